// reverse: f64
module @reverse {
  func.func public @main(%arg0: tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xf64>) {
    %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 1>}> : (tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
    %1 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 0, 2>}> : (tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
    "func.return"(%0, %1) : (tensor<2x3x2xf64>, tensor<2x3x2xf64>) -> ()
  }
}
