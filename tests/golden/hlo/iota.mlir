// iota: both axes
module @iota {
  func.func public @main() -> (tensor<2x3xi32>, tensor<2x3xf64>) {
    %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2x3xi32>
    %1 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xf64>
    "func.return"(%0, %1) : (tensor<2x3xi32>, tensor<2x3xf64>) -> ()
  }
}
