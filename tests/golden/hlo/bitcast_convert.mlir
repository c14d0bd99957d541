// bitcast_convert: bits of a float and back
module @bitcast_convert {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xui32>, tensor<5xf32>) {
    %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<5xf32>) -> tensor<5xui32>
    %1 = "stablehlo.bitcast_convert"(%0) : (tensor<5xui32>) -> tensor<5xf32>
    "func.return"(%0, %1) : (tensor<5xui32>, tensor<5xf32>) -> ()
  }
}
// bitcast_convert: bits of a double
module @bitcast_convert {
  func.func public @main(%arg0: tensor<5xf64>) -> (tensor<5xf64>) {
    %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<5xf64>) -> tensor<5xui64>
    %1 = "stablehlo.bitcast_convert"(%0) : (tensor<5xui64>) -> tensor<5xf64>
    "func.return"(%1) : (tensor<5xf64>) -> ()
  }
}
