// slice: f64
module @slice {
  func.func public @main(%arg0: tensor<4x7xf64>) -> (tensor<2x7xf64>, tensor<2x3xf64>, tensor<4x3xf64>) {
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 3, 7>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 1>}> : (tensor<4x7xf64>) -> tensor<2x7xf64>
    %1 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 7>, start_indices = array<i64: 0, 1>, strides = array<i64: 3, 2>}> : (tensor<4x7xf64>) -> tensor<2x3xf64>
    %2 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 5>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<4x7xf64>) -> tensor<4x3xf64>
    "func.return"(%0, %1, %2) : (tensor<2x7xf64>, tensor<2x3xf64>, tensor<4x3xf64>) -> ()
  }
}
