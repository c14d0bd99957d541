// broadcast_in_dim: f64
module @broadcast_in_dim {
  func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<2x1xf64>, %arg2: tensor<f64>) -> (tensor<3x2xf64>, tensor<4x2x3xf64>, tensor<2x2xf64>) {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf64>) -> tensor<3x2xf64>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<2x1xf64>) -> tensor<4x2x3xf64>
    %2 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2xf64>
    "func.return"(%0, %1, %2) : (tensor<3x2xf64>, tensor<4x2x3xf64>, tensor<2x2xf64>) -> ()
  }
}
