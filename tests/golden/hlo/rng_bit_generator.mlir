// rng_bit_generator: 32 bits
module @rng_bit_generator {
  func.func public @main(%arg0: tensor<3xui64>) -> (tensor<3xui64>, tensor<3x7xui32>) {
    %0:2 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<3x7xui32>)
    "func.return"(%0#0, %0#1) : (tensor<3xui64>, tensor<3x7xui32>) -> ()
  }
}
// rng_bit_generator: 64 bits
module @rng_bit_generator {
  func.func public @main(%arg0: tensor<3xui64>) -> (tensor<3xui64>, tensor<5xui64>) {
    %0:2 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<5xui64>)
    "func.return"(%0#0, %0#1) : (tensor<3xui64>, tensor<5xui64>) -> ()
  }
}
// rng_bit_generator: carry from the counter's low half
module @rng_bit_generator {
  func.func public @main() -> (tensor<3xui64>, tensor<9xui32>) {
    %0 = "stablehlo.constant"() <{value = dense<[0, 0, 0]> : tensor<3xui64>}> : () -> tensor<3xui64>
    %1 = "stablehlo.not"(%0) : (tensor<3xui64>) -> tensor<3xui64>
    %2 = "stablehlo.constant"() <{value = dense<[0, 1, 0]> : tensor<3xui64>}> : () -> tensor<3xui64>
    %3 = "stablehlo.convert"(%2) : (tensor<3xui64>) -> tensor<3xi1>
    %4 = "stablehlo.constant"() <{value = dense<[7, 0, 0]> : tensor<3xui64>}> : () -> tensor<3xui64>
    %5 = "stablehlo.select"(%3, %1, %4) : (tensor<3xi1>, tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
    %6:2 = "stablehlo.rng_bit_generator"(%5) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<9xui32>)
    "func.return"(%6#0, %6#1) : (tensor<3xui64>, tensor<9xui32>) -> ()
  }
}
