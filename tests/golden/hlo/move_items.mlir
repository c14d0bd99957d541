// move_items: some items
module @move_items {
  func.func public @main(%arg0: tensor<2x4x3xf64>) -> (tensor<2x3x3xf64>) {
    %0 = "stablehlo.constant"() <{value = dense<[[2, -1, 0, -1], [-1, 1, -1, 0]]> : tensor<2x4xi32>}> : () -> tensor<2x4xi32>
    %1 = "stablehlo.constant"() <{value = dense<[[2, -1, 0], [3, 1, -1]]> : tensor<2x3xi32>}> : () -> tensor<2x3xi32>
    %2 = "stablehlo.gather"(%arg0, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 3>}> : (tensor<2x4x3xf64>, tensor<2x3xi32>) -> tensor<2x3x3xf64>
    %3 = "stablehlo.constant"() <{value = dense<0> : tensor<2x3xi32>}> : () -> tensor<2x3xi32>
    %4 = "stablehlo.compare"(%1, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %5 = "stablehlo.constant"() <{value = dense<0.0e+00> : tensor<2x3x3xf64>}> : () -> tensor<2x3x3xf64>
    %6 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xi1>) -> tensor<2x3x3xi1>
    %7 = "stablehlo.select"(%6, %2, %5) : (tensor<2x3x3xi1>, tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
    "func.return"(%7) : (tensor<2x3x3xf64>) -> ()
  }
}
