// int4 quantization by GPTQ (Frantar et al. 2023, arXiv 2210.17323, algorithm 1, and its authors'
// program). Rounds one column after another and adjusts the later columns such that the outputs for
// the calibration inputs change as little as possible.
//   R rows, the outputs of a matmul   C columns, its inputs
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/formats/int4_groups.h"

namespace smelt::compress {

// Replaces the matrix `sums`, H = 2/n sum x x' over n calibration inputs x, [C,C], by the upper
// triangular U with U' U = (H + 0.01 mean(diag H) I)^-1. Inputs that are always 0 get 1 on the
// diagonal of H. All matmuls with the same input can use the same U.
void gptq_triangle(std::vector<double>& sums, std::size_t columns, int threads);

// Quantizes weights [R,C] with the triangle of gptq_triangle(). `dead` marks the inputs that are 0
// in all calibration data; their weights are set to 0. The scale of a group of columns is computed
// when rounding reaches the group, from the adjusted weights. The result does not depend on
// `threads`.
io::Int4Groups gptq_groups(std::span<const float> weights, std::size_t rows, std::size_t group,
                           std::span<const double> triangle, const std::vector<bool>& dead,
                           int threads);

}  // namespace smelt::compress
