// shift_left: u32
module @shift_left {
  func.func public @main(%arg0: tensor<6xui32>, %arg1: tensor<6xui32>) -> (tensor<6xui32>) {
    %0 = "stablehlo.shift_left"(%arg0, %arg1) : (tensor<6xui32>, tensor<6xui32>) -> tensor<6xui32>
    "func.return"(%0) : (tensor<6xui32>) -> ()
  }
}
// shift_left: s32
module @shift_left {
  func.func public @main(%arg0: tensor<6xi32>, %arg1: tensor<6xi32>) -> (tensor<6xi32>) {
    %0 = "stablehlo.shift_left"(%arg0, %arg1) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%0) : (tensor<6xi32>) -> ()
  }
}
