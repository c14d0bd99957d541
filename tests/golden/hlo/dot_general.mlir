// dot_general: matrix product
module @dot_general {
  func.func public @main(%arg0: tensor<2x3xf64>, %arg1: tensor<3x4xf64>) -> (tensor<2x4xf64>) {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
    "func.return"(%0) : (tensor<2x4xf64>) -> ()
  }
}
// dot_general: second operand transposed
module @dot_general {
  func.func public @main(%arg0: tensor<5x2x3xf64>, %arg1: tensor<4x3xf64>) -> (tensor<5x2x4xf64>) {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<5x2x3xf64>, tensor<4x3xf64>) -> tensor<5x2x4xf64>
    "func.return"(%0) : (tensor<5x2x4xf64>) -> ()
  }
}
// dot_general: batch
module @dot_general {
  func.func public @main(%arg0: tensor<2x3x4x5xf64>, %arg1: tensor<2x3x5x2xf64>) -> (tensor<2x3x4x2xf64>) {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3x4x5xf64>, tensor<2x3x5x2xf64>) -> tensor<2x3x4x2xf64>
    "func.return"(%0) : (tensor<2x3x4x2xf64>) -> ()
  }
}
// dot_general: inner batch and two contracted axes
module @dot_general {
  func.func public @main(%arg0: tensor<3x2x4x5xf64>, %arg1: tensor<5x2x6x3xf64>) -> (tensor<2x4x6xf64>) {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [0, 3], rhs_contracting_dimensions = [3, 0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x2x4x5xf64>, tensor<5x2x6x3xf64>) -> tensor<2x4x6xf64>
    "func.return"(%0) : (tensor<2x4x6xf64>) -> ()
  }
}
// dot_general: int8 operands, int32 result
module @dot_general {
  func.func public @main(%arg0: tensor<3x40xi8>, %arg1: tensor<5x40xi8>) -> (tensor<3x5xi32>) {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x40xi8>, tensor<5x40xi8>) -> tensor<3x5xi32>
    "func.return"(%0) : (tensor<3x5xi32>) -> ()
  }
}
// dot_general: outer product
module @dot_general {
  func.func public @main(%arg0: tensor<2xf64>, %arg1: tensor<3xf64>) -> (tensor<2x3xf64>) {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [], rhs_contracting_dimensions = []>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2xf64>, tensor<3xf64>) -> tensor<2x3xf64>
    "func.return"(%0) : (tensor<2x3xf64>) -> ()
  }
}
