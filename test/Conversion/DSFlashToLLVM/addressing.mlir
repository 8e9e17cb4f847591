// RUN: dsflash-opt %s --split-input-file --verify-diagnostics --dsflash-verify-addressing

// Row numbers may be narrow; what is computed from them may not. The host's
// code is not looked at.
llvm.func @host(%p: !llvm.ptr, %row: i32) -> !llvm.ptr {
  %a = llvm.getelementptr %p[%row] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  llvm.return %a : !llvm.ptr
}
gpu.module @device_code {
  llvm.func @wide(%p: !llvm.ptr, %row: i32, %n: i64) -> !llvm.ptr {
    %i = llvm.sext %row : i32 to i64
    %j = llvm.mul %i, %n : i64
    %a = llvm.getelementptr %p[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %b = llvm.getelementptr %a[3] : (!llvm.ptr) -> !llvm.ptr, f32
    llvm.return %b : !llvm.ptr
  }
}

// -----

gpu.module @device_code {
  llvm.func @narrow(%p: !llvm.ptr, %row: i32) -> !llvm.ptr {
    // expected-error @below {{an address in device code has an offset of 'i32'}}
    %a = llvm.getelementptr %p[%row] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    llvm.return %a : !llvm.ptr
  }
}

// -----

gpu.module @device_code {
  llvm.func @product(%p: !llvm.ptr, %row: i32, %n: i32, %k: i64) -> !llvm.ptr {
    %i = llvm.mul %row, %n : i32
    %j = llvm.sext %i : i32 to i64
    %l = llvm.add %k, %j : i64
    // expected-error @below {{an address in device code is computed in 'i32'}}
    %a = llvm.getelementptr %p[%l] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.return %a : !llvm.ptr
  }
}
