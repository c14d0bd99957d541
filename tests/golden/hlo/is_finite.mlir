// is_finite: infinity and NaN
module @is_finite {
  func.func public @main() -> (tensor<4xi1>) {
    %0 = "stablehlo.constant"() <{value = dense<[1.0e+00, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>}> : () -> tensor<4xf32>
    %1 = "stablehlo.is_finite"(%0) : (tensor<4xf32>) -> tensor<4xi1>
    "func.return"(%1) : (tensor<4xi1>) -> ()
  }
}
