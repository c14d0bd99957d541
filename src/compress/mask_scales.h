// Factors for the units of a product that stay when others are cut, so that it gives as nearly as
// can be what it gave (the masks' least squares of Kwon et al. 2022, "A fast post-training pruning
// framework for transformers", section 4.3). Each product by itself: its rows are those that the
// whole model gives it, where Kwon et al. take those that the cut layers before it give.
//   T tokens   U units of width W   K of them that stay   H hidden
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt {

struct ScaledProduct {
  std::string parameter;  // [U W, H]
  std::int64_t units = 0;
  std::vector<std::int64_t> kept = {};  // ascending
};

// With A [K,T H] what each unit that stays adds to the product's rows y [T H], of tokens that are
// no padding: three outputs for each product, A A' [K,K], A y [K], y'y [1].
Prediction product_sums(const Task& task, const std::vector<ScaledProduct>& products);

// The factors s [K] that make |A' s - y| least, from those sums; of units that cannot be told apart
// the ones nearest to 1. nullopt where one of them is above 10 in size, which is no rescaling.
std::optional<std::vector<double>> least_squares(std::span<const double> gram,
                                                 std::span<const double> onto);

struct MaskScales {
  std::vector<double> factors;  // [K]; ones where least squares gave none
  bool taken = false;           // whether they are of least squares
  // |A' s - y|^2 / |y|^2 with ones for s, and with the factors.
  double lost_before = 0, lost = 0;
};
// One for each product. Their sums are taken in as many passes over the rows as keep them in
// memory.
std::vector<MaskScales> mask_scales(const Task& task, const std::vector<ScaledProduct>& products,
                                    const RowPass& pass);

}  // namespace smelt
