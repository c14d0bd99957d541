// not: s32, pred
module @not {
  func.func public @main(%arg0: tensor<6xi32>, %arg1: tensor<4xi1>) -> (tensor<6xi32>, tensor<4xi1>) {
    %0 = "stablehlo.not"(%arg0) : (tensor<6xi32>) -> tensor<6xi32>
    %1 = "stablehlo.not"(%arg1) : (tensor<4xi1>) -> tensor<4xi1>
    "func.return"(%0, %1) : (tensor<6xi32>, tensor<4xi1>) -> ()
  }
}
