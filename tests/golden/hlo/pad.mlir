// pad: f64
module @pad {
  func.func public @main(%arg0: tensor<2x3xf64>) -> (tensor<3x5xf64>, tensor<5x6xf64>, tensor<3x2xf64>) {
    %0 = "stablehlo.constant"() <{value = dense<5.0e-01> : tensor<f64>}> : () -> tensor<f64>
    %1 = "stablehlo.pad"(%arg0, %0) <{edge_padding_high = array<i64: 0, 2>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf64>, tensor<f64>) -> tensor<3x5xf64>
    %2 = "stablehlo.constant"() <{value = dense<0.0e+00> : tensor<f64>}> : () -> tensor<f64>
    %3 = "stablehlo.pad"(%arg0, %2) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, 1>, interior_padding = array<i64: 2, 1>}> : (tensor<2x3xf64>, tensor<f64>) -> tensor<5x6xf64>
    %4 = "stablehlo.constant"() <{value = dense<0.0e+00> : tensor<f64>}> : () -> tensor<f64>
    %5 = "stablehlo.pad"(%arg0, %4) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, -1>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf64>, tensor<f64>) -> tensor<3x2xf64>
    "func.return"(%1, %3, %5) : (tensor<3x5xf64>, tensor<5x6xf64>, tensor<3x2xf64>) -> ()
  }
}
