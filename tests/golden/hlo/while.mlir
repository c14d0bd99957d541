// while: powers of a number
module @while {
  func.func public @main(%arg0: tensor<2xf64>) -> (tensor<i32>, tensor<2xf64>) {
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1:2 = "stablehlo.while"(%0, %arg0) ({
    ^bb0(%2: tensor<i32>, %3: tensor<2xf64>):
      %4 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %5 = "stablehlo.compare"(%2, %4) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%5) : (tensor<i1>) -> ()
    }, {
    ^bb0(%6: tensor<i32>, %7: tensor<2xf64>):
      %8 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %9 = "stablehlo.add"(%6, %8) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %10 = "stablehlo.multiply"(%7, %7) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %11 = "stablehlo.constant"() <{value = dense<5.0e-01> : tensor<f64>}> : () -> tensor<f64>
      %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2xf64>
      %13 = "stablehlo.multiply"(%10, %12) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      "stablehlo.return"(%9, %13) : (tensor<i32>, tensor<2xf64>) -> ()
    }) : (tensor<i32>, tensor<2xf64>) -> (tensor<i32>, tensor<2xf64>)
    "func.return"(%1#0, %1#1) : (tensor<i32>, tensor<2xf64>) -> ()
  }
}
// while: sums of a captured value up to a captured bound
module @while {
  func.func public @main(%arg0: tensor<2xf64>, %arg1: tensor<i32>) -> (tensor<i32>, tensor<2xf64>) {
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<0.0e+00> : tensor<2xf64>}> : () -> tensor<2xf64>
    %2:4 = "stablehlo.while"(%0, %1, %arg1, %arg0) ({
    ^bb0(%3: tensor<i32>, %4: tensor<2xf64>, %5: tensor<i32>, %6: tensor<2xf64>):
      %7 = "stablehlo.compare"(%3, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%7) : (tensor<i1>) -> ()
    }, {
    ^bb0(%8: tensor<i32>, %9: tensor<2xf64>, %10: tensor<i32>, %11: tensor<2xf64>):
      %12 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %13 = "stablehlo.add"(%8, %12) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %14 = "stablehlo.add"(%9, %11) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      "stablehlo.return"(%13, %14, %10, %11) : (tensor<i32>, tensor<2xf64>, tensor<i32>, tensor<2xf64>) -> ()
    }) : (tensor<i32>, tensor<2xf64>, tensor<i32>, tensor<2xf64>) -> (tensor<i32>, tensor<2xf64>, tensor<i32>, tensor<2xf64>)
    "func.return"(%2#0, %2#1) : (tensor<i32>, tensor<2xf64>) -> ()
  }
}
