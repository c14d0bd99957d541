// select: f64
module @select {
  func.func public @main(%arg0: tensor<2x3xi1>, %arg1: tensor<2x3xf64>, %arg2: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    "func.return"(%0) : (tensor<2x3xf64>) -> ()
  }
}
// select: broadcast
module @select {
  func.func public @main(%arg0: tensor<2x1xi1>, %arg1: tensor<2x3xf64>, %arg2: tensor<f64>) -> (tensor<2x3xf64>) {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xi1>) -> tensor<2x3xi1>
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x3xf64>
    %2 = "stablehlo.select"(%0, %arg1, %1) : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    "func.return"(%2) : (tensor<2x3xf64>) -> ()
  }
}
