// reduce_max: one axis
module @reduce_max {
  func.func public @main(%arg0: tensor<2x3x4xf64>) -> (tensor<2x4xf64>) {
    %0 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%2: tensor<f64>, %3: tensor<f64>):
      %4 = "stablehlo.maximum"(%2, %3) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%4) : (tensor<f64>) -> ()
    }) : (tensor<2x3x4xf64>, tensor<f64>) -> tensor<2x4xf64>
    "func.return"(%1) : (tensor<2x4xf64>) -> ()
  }
}
// reduce_max: two axes, kept
module @reduce_max {
  func.func public @main(%arg0: tensor<2x3x4xf64>) -> (tensor<1x3x1xf64>) {
    %0 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 0, 2>}> ({
    ^bb0(%2: tensor<f64>, %3: tensor<f64>):
      %4 = "stablehlo.maximum"(%2, %3) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%4) : (tensor<f64>) -> ()
    }) : (tensor<2x3x4xf64>, tensor<f64>) -> tensor<3xf64>
    %5 = "stablehlo.reshape"(%1) : (tensor<3xf64>) -> tensor<1x3x1xf64>
    "func.return"(%5) : (tensor<1x3x1xf64>) -> ()
  }
}
// reduce_max: all axes
module @reduce_max {
  func.func public @main(%arg0: tensor<2x3xf64>) -> (tensor<f64>) {
    %0 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%2: tensor<f64>, %3: tensor<f64>):
      %4 = "stablehlo.maximum"(%2, %3) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%4) : (tensor<f64>) -> ()
    }) : (tensor<2x3xf64>, tensor<f64>) -> tensor<f64>
    "func.return"(%1) : (tensor<f64>) -> ()
  }
}
// reduce_max: s32
module @reduce_max {
  func.func public @main(%arg0: tensor<2x3xi32>) -> (tensor<3xi32>) {
    %0 = "stablehlo.constant"() <{value = dense<-2147483648> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%2: tensor<i32>, %3: tensor<i32>):
      %4 = "stablehlo.maximum"(%2, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%4) : (tensor<i32>) -> ()
    }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<3xi32>
    "func.return"(%1) : (tensor<3xi32>) -> ()
  }
}
