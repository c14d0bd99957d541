// sign: f64
module @sign {
  func.func public @main(%arg0: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
    %0 = "stablehlo.sign"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xf64>
    "func.return"(%0) : (tensor<2x3xf64>) -> ()
  }
}
// sign: f32
module @sign {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xf32>) {
    %0 = "stablehlo.sign"(%arg0) : (tensor<5xf32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
