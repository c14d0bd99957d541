// transpose: f64
module @transpose {
  func.func public @main(%arg0: tensor<2x3x4xf64>) -> (tensor<4x2x3xf64>, tensor<2x4x3xf64>) {
    %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
    %1 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 0, 2, 1>}> : (tensor<2x3x4xf64>) -> tensor<2x4x3xf64>
    "func.return"(%0, %1) : (tensor<4x2x3xf64>, tensor<2x4x3xf64>) -> ()
  }
}
