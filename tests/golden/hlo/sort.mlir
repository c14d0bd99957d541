// sort: keys with values
module @sort {
  func.func public @main(%arg0: tensor<4x3xi32>, %arg1: tensor<4x3xf64>) -> (tensor<4x3xi32>, tensor<4x3xf64>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%1: tensor<i32>, %2: tensor<i32>, %3: tensor<f64>, %4: tensor<f64>):
      %5 = "stablehlo.compare"(%1, %2) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%5) : (tensor<i1>) -> ()
    }) : (tensor<4x3xi32>, tensor<4x3xf64>) -> (tensor<4x3xi32>, tensor<4x3xf64>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xi32>, tensor<4x3xf64>) -> ()
  }
}
