// top_k: rows
module @top_k {
  func.func public @main(%arg0: tensor<3x6xf64>) -> (tensor<3x2xf64>, tensor<3x2xi32>) {
    %0:2 = "chlo.top_k"(%arg0) <{k = 2 : i64}> : (tensor<3x6xf64>) -> (tensor<3x2xf64>, tensor<3x2xi32>)
    "func.return"(%0#0, %0#1) : (tensor<3x2xf64>, tensor<3x2xi32>) -> ()
  }
}
// top_k: ties
module @top_k {
  func.func public @main(%arg0: tensor<2x2x7xi32>) -> (tensor<2x2x5xi32>, tensor<2x2x5xi32>) {
    %0:2 = "chlo.top_k"(%arg0) <{k = 5 : i64}> : (tensor<2x2x7xi32>) -> (tensor<2x2x5xi32>, tensor<2x2x5xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2x2x5xi32>, tensor<2x2x5xi32>) -> ()
  }
}
