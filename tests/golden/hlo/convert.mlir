// convert: from f64
module @convert {
  func.func public @main(%arg0: tensor<2x3xf64>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xbf16>, tensor<2x3xf16>, tensor<2x3xi1>) {
    %0 = "stablehlo.convert"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xf32>
    %1 = "stablehlo.convert"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xi32>
    %2 = "stablehlo.convert"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xbf16>
    %3 = "stablehlo.convert"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xf16>
    %4 = "stablehlo.convert"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xi1>
    "func.return"(%0, %1, %2, %3, %4) : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xbf16>, tensor<2x3xf16>, tensor<2x3xi1>) -> ()
  }
}
// convert: to f64
module @convert {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>, %arg2: tensor<4xi1>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xui8>) {
    %0 = "stablehlo.convert"(%arg0) : (tensor<4xf32>) -> tensor<4xf64>
    %1 = "stablehlo.convert"(%arg1) : (tensor<4xi32>) -> tensor<4xf64>
    %2 = "stablehlo.convert"(%arg2) : (tensor<4xi1>) -> tensor<4xf64>
    %3 = "stablehlo.convert"(%arg1) : (tensor<4xi32>) -> tensor<4xui8>
    "func.return"(%0, %1, %2, %3) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xui8>) -> ()
  }
}
// convert: int8
module @convert {
  func.func public @main(%arg0: tensor<5xi8>, %arg1: tensor<3xf64>) -> (tensor<5xf64>, tensor<5xi32>, tensor<3xi8>) {
    %0 = "stablehlo.convert"(%arg0) : (tensor<5xi8>) -> tensor<5xf64>
    %1 = "stablehlo.convert"(%arg0) : (tensor<5xi8>) -> tensor<5xi32>
    %2 = "stablehlo.convert"(%arg1) : (tensor<3xf64>) -> tensor<3xi8>
    "func.return"(%0, %1, %2) : (tensor<5xf64>, tensor<5xi32>, tensor<3xi8>) -> ()
  }
}
// convert: there and back
module @convert {
  func.func public @main(%arg0: tensor<4xf64>) -> (tensor<4xf64>) {
    %0 = "stablehlo.convert"(%arg0) : (tensor<4xf64>) -> tensor<4xf32>
    %1 = "stablehlo.convert"(%0) : (tensor<4xf32>) -> tensor<4xf64>
    "func.return"(%1) : (tensor<4xf64>) -> ()
  }
}
