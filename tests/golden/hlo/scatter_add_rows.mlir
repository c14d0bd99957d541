// scatter_add_rows: two axes of ids
module @scatter_add_rows {
  func.func public @main(%arg0: tensor<5x3xf64>, %arg1: tensor<2x4xi32>, %arg2: tensor<2x4x3xf64>) -> (tensor<5x3xf64>) {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%1: tensor<f64>, %2: tensor<f64>):
      %3 = "stablehlo.add"(%1, %2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%3) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<2x4xi32>, tensor<2x4x3xf64>) -> tensor<5x3xf64>
    "func.return"(%0) : (tensor<5x3xf64>) -> ()
  }
}
// scatter_add_rows: out of range
module @scatter_add_rows {
  func.func public @main(%arg0: tensor<5xf64>, %arg1: tensor<6xi32>, %arg2: tensor<6xf64>) -> (tensor<5xf64>) {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%1: tensor<f64>, %2: tensor<f64>):
      %3 = "stablehlo.add"(%1, %2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%3) : (tensor<f64>) -> ()
    }) : (tensor<5xf64>, tensor<6xi32>, tensor<6xf64>) -> tensor<5xf64>
    "func.return"(%0) : (tensor<5xf64>) -> ()
  }
}
