// all_reduce_sum: one replica
module @all_reduce_sum {
  func.func public @main(%arg0: tensor<3xf64>) -> (tensor<3xf64>) {
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> ({
    ^bb0(%1: tensor<f64>, %2: tensor<f64>):
      %3 = "stablehlo.add"(%1, %2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%3) : (tensor<f64>) -> ()
    }) : (tensor<3xf64>) -> tensor<3xf64>
    "func.return"(%0) : (tensor<3xf64>) -> ()
  }
}
