// gather_items: items of two axes
module @gather_items {
  func.func public @main(%arg0: tensor<2x4x3xf64>, %arg1: tensor<2x5xi32>) -> (tensor<2x5x3xf64>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 3>}> : (tensor<2x4x3xf64>, tensor<2x5xi32>) -> tensor<2x5x3xf64>
    "func.return"(%0) : (tensor<2x5x3xf64>) -> ()
  }
}
// gather_items: out of range
module @gather_items {
  func.func public @main(%arg0: tensor<3x2xf64>, %arg1: tensor<3x4xi32>) -> (tensor<3x4xf64>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<3x2xf64>, tensor<3x4xi32>) -> tensor<3x4xf64>
    "func.return"(%0) : (tensor<3x4xf64>) -> ()
  }
}
