// dynamic_slice: f64
module @dynamic_slice {
  func.func public @main(%arg0: tensor<4x5xf64>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> (tensor<2x3xf64>) {
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2) <{slice_sizes = array<i64: 2, 3>}> : (tensor<4x5xf64>, tensor<i32>, tensor<i32>) -> tensor<2x3xf64>
    "func.return"(%0) : (tensor<2x3xf64>) -> ()
  }
}
