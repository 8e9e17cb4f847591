// RUN: dsflash-opt %s -convert-dsflash-to-kernels -split-input-file | FileCheck %s

!bias = !dsflash.weight<[1, 24], <f32>>

// CHECK-LABEL: func.func @router
func.func @router(%logits: tensor<?x24xf32>, %bias: !bias) -> (tensor<?x6xi32>, tensor<?x6xf32>) {
  // CHECK: %[[N:.*]] = tensor.dim
  // CHECK-DAG: %[[IDS:.*]] = tensor.empty(%[[N]]) : tensor<?x6xi32>
  // CHECK-DAG: %[[WEIGHTS:.*]] = tensor.empty(%[[N]]) : tensor<?x6xf32>
  // CHECK: dsflash.dispatch @router_1x24_f32 grid(%[[N]]) ins({{.*}}) outs(%[[IDS]], %[[WEIGHTS]] : tensor<?x6xi32>, tensor<?x6xf32>)
  %0:2 = dsflash.router %logits, %bias {temperature = 1.0 : f32, scaling = 1.5 : f32, normalize}
    : (tensor<?x24xf32>, !bias) -> (tensor<?x6xi32>, tensor<?x6xf32>)
  return %0#0, %0#1 : tensor<?x6xi32>, tensor<?x6xf32>
}
// CHECK: func.func private @router_1x24_f32
// CHECK-DAG: memref.alloca() {{.*}} : memref<24xf32>
// CHECK-DAG: math.exp {{.*}} : vector<8xf32>
// CHECK-DAG: math.log1p {{.*}} : vector<8xf32>

// -----

// One item sorts all slots.
// CHECK-LABEL: func.func @group
func.func @group(%experts: tensor<?x6xi32>) -> (tensor<?x6xi32>, tensor<25xi32>) {
  // CHECK: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: %[[OFFSETS:.*]] = tensor.empty() : tensor<25xi32>
  // CHECK: dsflash.dispatch @group_by_expert_6 grid(%[[ONE]]) ins({{.*}}) outs(%{{.*}}, %[[OFFSETS]] : tensor<?x6xi32>, tensor<25xi32>)
  %0:2 = dsflash.group_by_expert %experts : (tensor<?x6xi32>) -> (tensor<?x6xi32>, tensor<25xi32>)
  return %0#0, %0#1 : tensor<?x6xi32>, tensor<25xi32>
}

// -----

!w = !dsflash.weight<[24, 48, 64], <e2m1, e8m0, [1, 32]>>

// Items are tiles of outputs of experts; what the choices of a row share has
// rank 2, what each has for itself rank 3.
// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<?x64xf32>, %y: tensor<?x6x64xf32>, %w: !w, %order: tensor<?x6xi32>,
    %offsets: tensor<25xi32>) -> (tensor<?x6x48xf32>, tensor<?x6x48xf32>) {
  // CHECK: %[[ITEMS:.*]] = arith.constant 144 : index
  // CHECK: dsflash.dispatch @expert_linear_24x48x64_e2m1 grid(%[[ITEMS]])
  %0 = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x64xf32>, !w, tensor<?x6xi32>, tensor<25xi32>) -> tensor<?x6x48xf32>
  // CHECK: dsflash.dispatch @expert_linear_24x48x64_e2m1_1 grid(%{{.*}})
  %1 = dsflash.expert_linear %y, %w order %order, %offsets {rounded}
    : (tensor<?x6x64xf32>, !w, tensor<?x6xi32>, tensor<25xi32>) -> tensor<?x6x48xf32>
  return %0, %1 : tensor<?x6x48xf32>, tensor<?x6x48xf32>
}
// An expert without slots is not even looked up.
// CHECK: func.func private @expert_linear_24x48x64_e2m1(
// CHECK: scf.for %[[EXPERT:.*]] =
// CHECK: %[[FIRST:.*]] = arith.index_cast
// CHECK: %[[LAST:.*]] = arith.index_cast
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[FIRST]], %[[LAST]]
// CHECK: scf.if %[[ANY]]
// CHECK: dsflash.weight_data payload %{{.*}}[%[[EXPERT]]]
// CHECK: dsflash.weight_data scale %{{.*}}[%[[EXPERT]]]

// -----

// CHECK-LABEL: func.func @swiglu
func.func @swiglu(%g: tensor<?x6x48xf32>, %u: tensor<?x6x48xf32>, %r: tensor<?x6xf32>) -> tensor<?x6x48xf32> {
  // CHECK: dsflash.dispatch @swiglu_6x48 grid(%{{.*}}) ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x6x48xf32>, tensor<?x6x48xf32>, tensor<?x6xf32>)
  %0 = dsflash.swiglu %g, %u route %r {limit = 10.0 : f32}
    : (tensor<?x6x48xf32>, tensor<?x6x48xf32>, tensor<?x6xf32>) -> tensor<?x6x48xf32>
  return %0 : tensor<?x6x48xf32>
}

// -----

// CHECK-LABEL: func.func @combine
func.func @combine(%routed: tensor<?x6x64xf32>, %shared: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: dsflash.dispatch @combine_64 grid(%{{.*}}) ins(%{{.*}}, %{{.*}} : tensor<?x6x64xf32>, tensor<?x64xf32>)
  %0 = dsflash.combine %routed, %shared : (tensor<?x6x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
