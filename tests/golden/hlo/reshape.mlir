// reshape: f64
module @reshape {
  func.func public @main(%arg0: tensor<2x6xf64>, %arg1: tensor<1x1xf64>) -> (tensor<3x1x4xf64>, tensor<f64>) {
    %0 = "stablehlo.reshape"(%arg0) : (tensor<2x6xf64>) -> tensor<3x1x4xf64>
    %1 = "stablehlo.reshape"(%arg1) : (tensor<1x1xf64>) -> tensor<f64>
    "func.return"(%0, %1) : (tensor<3x1x4xf64>, tensor<f64>) -> ()
  }
}
