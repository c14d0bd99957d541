// reduce_precision: the bits of bf16
module @reduce_precision {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xbf16>) {
    %0 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<5xf32>) -> tensor<5xf32>
    %1 = "stablehlo.convert"(%0) : (tensor<5xf32>) -> tensor<5xbf16>
    "func.return"(%1) : (tensor<5xbf16>) -> ()
  }
}
