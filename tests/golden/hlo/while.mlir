// while: powers of a number
module @while {
  func.func public @main(%arg0: tensor<2xf64>) -> (tensor<i32>, tensor<2xf64>) {
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1:2 = "stablehlo.while"(%0, %arg0) ({
    ^bb0(%2: tensor<i32>, %3: tensor<2xf64>):
      %4 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
      %5 = "stablehlo.compare"(%2, %4) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
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
