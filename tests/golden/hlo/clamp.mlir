// clamp: f64
module @clamp {
  func.func public @main(%arg0: tensor<f64>, %arg1: tensor<3x5xf64>, %arg2: tensor<5xf64>) -> (tensor<3x5xf64>) {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3x5xf64>
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1>}> : (tensor<5xf64>) -> tensor<3x5xf64>
    %2 = "stablehlo.clamp"(%0, %arg1, %1) : (tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>) -> tensor<3x5xf64>
    "func.return"(%2) : (tensor<3x5xf64>) -> ()
  }
}
