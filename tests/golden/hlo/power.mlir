// power: f64
module @power {
  func.func public @main(%arg0: tensor<2x3xf64>, %arg1: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
    %0 = "stablehlo.power"(%arg0, %arg1) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    "func.return"(%0) : (tensor<2x3xf64>) -> ()
  }
}
// power: broadcast
module @power {
  func.func public @main(%arg0: tensor<4x3xf64>, %arg1: tensor<f64>) -> (tensor<4x3xf64>) {
    %0 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %1 = "stablehlo.power"(%arg0, %0) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    "func.return"(%1) : (tensor<4x3xf64>) -> ()
  }
}
