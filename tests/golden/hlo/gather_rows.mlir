// gather_rows: two axes of ids
module @gather_rows {
  func.func public @main(%arg0: tensor<5x3xf64>, %arg1: tensor<2x4xi32>) -> (tensor<2x4x3xf64>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf64>, tensor<2x4xi32>) -> tensor<2x4x3xf64>
    "func.return"(%0) : (tensor<2x4x3xf64>) -> ()
  }
}
// gather_rows: out of range
module @gather_rows {
  func.func public @main(%arg0: tensor<5xf64>, %arg1: tensor<6xi32>) -> (tensor<6xf64>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<5xf64>, tensor<6xi32>) -> tensor<6xf64>
    "func.return"(%0) : (tensor<6xf64>) -> ()
  }
}
