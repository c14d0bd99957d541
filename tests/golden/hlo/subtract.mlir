// subtract: f64
module @subtract {
  func.func public @main(%arg0: tensor<2x3xf64>, %arg1: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
    %0 = "stablehlo.subtract"(%arg0, %arg1) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    "func.return"(%0) : (tensor<2x3xf64>) -> ()
  }
}
// subtract: broadcast
module @subtract {
  func.func public @main(%arg0: tensor<4x1x3xf64>, %arg1: tensor<2x1xf64>) -> (tensor<4x2x3xf64>) {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x3xf64>) -> tensor<4x2x3xf64>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<2x1xf64>) -> tensor<4x2x3xf64>
    %2 = "stablehlo.subtract"(%0, %1) : (tensor<4x2x3xf64>, tensor<4x2x3xf64>) -> tensor<4x2x3xf64>
    "func.return"(%2) : (tensor<4x2x3xf64>) -> ()
  }
}
