// dynamic_update_slice: f64
module @dynamic_update_slice {
  func.func public @main(%arg0: tensor<4x5xf64>, %arg1: tensor<2x3xf64>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> (tensor<4x5xf64>) {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3) : (tensor<4x5xf64>, tensor<2x3xf64>, tensor<i32>, tensor<i32>) -> tensor<4x5xf64>
    "func.return"(%0) : (tensor<4x5xf64>) -> ()
  }
}
