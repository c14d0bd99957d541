// Rescales the units of a matmul that remain after pruning, so that its output changes as little as
// possible (least squares for masks in Kwon et al. 2022, "A fast post-training pruning framework
// for transformers", section 4.3). Each matmul is treated separately, on the inputs of the original
// model; Kwon et al. use the inputs that the pruned layers before it produce.
//   T tokens   U units of width W   K remaining units   H hidden size
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt::compress {

// A matmul with the units to keep.
struct ScaledProduct {
  std::string parameter;  // [U W, H]
  std::int64_t units = 0;
  std::vector<std::int64_t> kept = {};  // ascending
};

// Returns a program with three outputs for each matmul: A A' [K,K], A y [K] and y'y [1]. A [K,T H]
// has the contribution of each remaining unit to the output y [T H], without padding tokens.
model::Prediction product_sums(const model::Task& task, const std::vector<ScaledProduct>& products);

// Returns the factors s [K] that minimize |A' s - y|, from gram = A A' and onto = A y. A small
// ridge keeps undetermined factors near 1. Returns nullopt if a factor exceeds 10 in magnitude.
std::optional<std::vector<double>> least_squares(std::span<const double> gram,
                                                 std::span<const double> onto);

// The scaling factors of one matmul.
struct MaskScales {
  std::vector<double> factors;  // [K]; all 1 if least squares failed
  bool taken = false;           // whether the factors come from least squares
  // |A' s - y|^2 / |y|^2 with all factors 1, and with `factors`.
  double lost_before = 0, lost = 0;
};
// Returns the scales of each matmul. Passes over the data several times if the sums of all matmuls
// do not fit into memory.
std::vector<MaskScales> mask_scales(const model::Task& task,
                                    const std::vector<ScaledProduct>& products,
                                    const RowPass& pass);

}  // namespace smelt::compress
