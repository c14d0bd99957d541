// optimization_barrier: two
module @optimization_barrier {
  func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<2x2xf64>) -> (tensor<3xf64>, tensor<2x2xf64>) {
    %0:2 = "stablehlo.optimization_barrier"(%arg0, %arg1) : (tensor<3xf64>, tensor<2x2xf64>) -> (tensor<3xf64>, tensor<2x2xf64>)
    "func.return"(%0#0, %0#1) : (tensor<3xf64>, tensor<2x2xf64>) -> ()
  }
}
