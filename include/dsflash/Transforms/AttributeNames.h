//===- AttributeNames.h - Attributes on modules and functions ---*- C++ -*-===//
//
// What passes write on modules, functions and arguments for later passes.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_TRANSFORMS_ATTRIBUTENAMES_H
#define DSFLASH_TRANSFORMS_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dsflash {

/// "read", "write" or "read_write", on a tensor of an entry: what the entry
/// does with it.
inline constexpr llvm::StringLiteral accessAttrName = "dsflash.access";
/// #dsflash.block, on a kernel whose items a block of threads runs together.
inline constexpr llvm::StringLiteral blockAttrName = "dsflash.block";
/// #dsflash.config, on a module whose kernels are made for a device.
inline constexpr llvm::StringLiteral configAttrName = "dsflash.config";
/// String, on an argument or result of an entry: what its leading extent
/// counts, "rows", "sequences" or "outputs".
inline constexpr llvm::StringLiteral dimAttrName = "dsflash.dim";
/// Unit, on an entry whose launches run on the host, whatever the device.
inline constexpr llvm::StringLiteral hostAttrName = "dsflash.host";
/// Unit, on a function that launches run.
inline constexpr llvm::StringLiteral kernelAttrName = "dsflash.kernel";
/// String, on an argument or result of an entry: its name in the ABI.
inline constexpr llvm::StringLiteral nameAttrName = "dsflash.name";
/// i64, on an entry: it needs no more than so many last rows of a sequence.
inline constexpr llvm::StringLiteral lastRowsAttrName = "dsflash.last_rows";
/// "reference" or "ideal", on the module.
inline constexpr llvm::StringLiteral numericsAttrName = "dsflash.numerics";
/// Unit, on the argument that holds all scratch memory of a function.
inline constexpr llvm::StringLiteral workspaceAttrName = "dsflash.workspace";
/// i64, on a function: its workspace is row_bytes * n + fixed_bytes long.
inline constexpr llvm::StringLiteral workspaceRowBytesAttrName =
    "dsflash.workspace_row_bytes";
inline constexpr llvm::StringLiteral workspaceFixedBytesAttrName =
    "dsflash.workspace_fixed_bytes";

} // namespace mlir::dsflash

#endif // DSFLASH_TRANSFORMS_ATTRIBUTENAMES_H
