// RUN: dsflash-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @router(
// CHECK: %[[EXPERTS:.*]], %[[WEIGHTS:.*]] = dsflash.router %{{.*}}, %{{.*}} {normalize, scaling = 1.500000e+00 : f32, temperature = 1.000000e+00 : f32} : (tensor<?x16xf32>, !dsflash.weight<[1, 16], <f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
// CHECK: return %[[EXPERTS]], %[[WEIGHTS]]
func.func @router(%logits: tensor<?x16xf32>, %bias: !dsflash.weight<[1, 16], <f32>>)
    -> (tensor<?x2xi32>, tensor<?x2xf32>) {
  %experts, %weights = dsflash.router %logits, %bias
      {normalize, scaling = 1.500000e+00 : f32, temperature = 1.000000e+00 : f32}
    : (tensor<?x16xf32>, !dsflash.weight<[1, 16], <f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %experts, %weights : tensor<?x2xi32>, tensor<?x2xf32>
}

// CHECK-LABEL: func.func @group_by_expert(
// CHECK: %[[ORDER:.*]], %[[OFFSETS:.*]] = dsflash.group_by_expert %{{.*}} : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<17xi32>)
// CHECK: return %[[ORDER]], %[[OFFSETS]]
func.func @group_by_expert(%experts: tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<17xi32>) {
  %order, %offsets = dsflash.group_by_expert %experts : (tensor<?x2xi32>) -> (tensor<?x2xi32>, tensor<17xi32>)
  return %order, %offsets : tensor<?x2xi32>, tensor<17xi32>
}

// CHECK-LABEL: func.func @expert_linear(
// CHECK: dsflash.expert_linear %{{.*}}, %{{.*}} order %{{.*}}, %{{.*}} : (tensor<?x64xf32>, !dsflash.weight<[16, 32, 64], <e2m1, e8m0, [1, 32]>>, tensor<?x2xi32>, tensor<17xi32>) -> tensor<?x2x32xf32>
func.func @expert_linear(%x: tensor<?x64xf32>, %w: !dsflash.weight<[16, 32, 64], <e2m1, e8m0, [1, 32]>>,
                         %order: tensor<?x2xi32>, %offsets: tensor<17xi32>) -> tensor<?x2x32xf32> {
  %y = dsflash.expert_linear %x, %w order %order, %offsets
    : (tensor<?x64xf32>, !dsflash.weight<[16, 32, 64], <e2m1, e8m0, [1, 32]>>, tensor<?x2xi32>, tensor<17xi32>)
    -> tensor<?x2x32xf32>
  return %y : tensor<?x2x32xf32>
}

// CHECK-LABEL: func.func @expert_linear_of_choices(
// CHECK: dsflash.expert_linear %{{.*}}, %{{.*}} order %{{.*}}, %{{.*}} {rounded} : (tensor<?x2x64xf32>,
func.func @expert_linear_of_choices(%x: tensor<?x2x64xf32>, %w: !dsflash.weight<[16, 32, 64], <bf16>>,
                                    %order: tensor<?x2xi32>, %offsets: tensor<17xi32>) -> tensor<?x2x32xf32> {
  %y = dsflash.expert_linear %x, %w order %order, %offsets {rounded}
    : (tensor<?x2x64xf32>, !dsflash.weight<[16, 32, 64], <bf16>>, tensor<?x2xi32>, tensor<17xi32>)
    -> tensor<?x2x32xf32>
  return %y : tensor<?x2x32xf32>
}

// CHECK-LABEL: func.func @swiglu(
// CHECK: dsflash.swiglu %{{.*}}, %{{.*}} route %{{.*}} {limit = 1.000000e+01 : f32} : (tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2xf32>) -> tensor<?x2x32xf32>
func.func @swiglu(%gate: tensor<?x2x32xf32>, %up: tensor<?x2x32xf32>, %route: tensor<?x2xf32>) -> tensor<?x2x32xf32> {
  %y = dsflash.swiglu %gate, %up route %route {limit = 1.000000e+01 : f32}
    : (tensor<?x2x32xf32>, tensor<?x2x32xf32>, tensor<?x2xf32>) -> tensor<?x2x32xf32>
  return %y : tensor<?x2x32xf32>
}

// CHECK-LABEL: func.func @swiglu_shared(
// CHECK: dsflash.swiglu %{{.*}}, %{{.*}} {limit = 0.000000e+00 : f32} : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
func.func @swiglu_shared(%gate: tensor<?x32xf32>, %up: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = dsflash.swiglu %gate, %up {limit = 0.000000e+00 : f32}
    : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @combine(
// CHECK: dsflash.combine %{{.*}}, %{{.*}} : (tensor<?x2x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
func.func @combine(%routed: tensor<?x2x64xf32>, %shared: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = dsflash.combine %routed, %shared : (tensor<?x2x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
