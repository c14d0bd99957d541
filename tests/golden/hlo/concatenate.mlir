// concatenate: f64
module @concatenate {
  func.func public @main(%arg0: tensor<2x1x3xf64>, %arg1: tensor<2x2x3xf64>, %arg2: tensor<2x4x3xf64>) -> (tensor<2x7x3xf64>) {
    %0 = "stablehlo.concatenate"(%arg0, %arg1, %arg2) <{dimension = 1 : i64}> : (tensor<2x1x3xf64>, tensor<2x2x3xf64>, tensor<2x4x3xf64>) -> tensor<2x7x3xf64>
    "func.return"(%0) : (tensor<2x7x3xf64>) -> ()
  }
}
