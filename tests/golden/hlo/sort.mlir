// sort: keys with values
module @sort {
  func.func public @main(%arg0: tensor<4x3xi32>, %arg1: tensor<4x3xf64>) -> (tensor<4x3xi32>, tensor<4x3xf64>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%1: tensor<i32>, %2: tensor<i32>, %3: tensor<f64>, %4: tensor<f64>):
      %5 = "stablehlo.compare"(%1, %2) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%5) : (tensor<i1>) -> ()
    }) : (tensor<4x3xi32>, tensor<4x3xf64>) -> (tensor<4x3xi32>, tensor<4x3xf64>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xi32>, tensor<4x3xf64>) -> ()
  }
}
// sort: top_k
module @sort {
  func.func public @main(%arg0: tensor<3x6xf64>) -> (tensor<3x2xf64>, tensor<3x2xi32>) {
    %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x6xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%2: tensor<f64>, %3: tensor<f64>, %4: tensor<i32>, %5: tensor<i32>):
      %6 = "stablehlo.compare"(%2, %3) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%6) : (tensor<i1>) -> ()
    }) : (tensor<3x6xf64>, tensor<3x6xi32>) -> (tensor<3x6xf64>, tensor<3x6xi32>)
    %7 = "stablehlo.slice"(%1#0) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x6xf64>) -> tensor<3x2xf64>
    %8 = "stablehlo.slice"(%1#1) <{limit_indices = array<i64: 3, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<3x6xi32>) -> tensor<3x2xi32>
    "func.return"(%7, %8) : (tensor<3x2xf64>, tensor<3x2xi32>) -> ()
  }
}
