// Codes of four bits that make up for one another: GPTQ (Frantar et al. 2023, arXiv 2210.17323,
// algorithm 1, and its authors' program). Column after column is rounded, and the columns behind
// it are moved such that the product's outputs over the rows that it was seen to take are as near
// as can be to what they were.
//   R rows, a product's outputs   C columns, its inputs
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/formats/int4_groups.h"

namespace smelt {

// In place: the matrix [C,C] of 2/n sum x x' over n rows x that a product takes becomes the upper
// triangle U with U' U the inverse of it and a hundredth of its diagonal's mean added to the
// diagonal, where an input that is always 0 has 1. It is the same for all products of one input.
void gptq_triangle(std::vector<double>& sums, std::size_t columns, int threads);

// Of weights [R,C], by the triangle; inputs that are `dead`, always 0, lose their weights. A
// group's scale is of its weights as they are when it is due. `threads` share the rows.
Int4Groups gptq_groups(std::span<const float> weights, std::size_t rows, std::size_t group,
                       std::span<const double> triangle, const std::vector<bool>& dead,
                       int threads);

}  // namespace smelt
