// The importance of units (heads, neurons) for the loss: the diagonal of the Fisher information of
// masks with value 1 on the units (Kwon et al. 2022, "A fast post-training pruning framework for
// transformers", section 4.1). Pruning removes the least important units, without training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt::compress {

// A matmul whose input units are masked, with its matrix [units * width, H].
struct MaskedProduct {
  std::string parameter;
  std::int64_t units = 0;
};

// Returns a program that computes for each matmul the gradient f32 [units] of the batch's loss with
// respect to the masks. Since a mask scales the matmul's input, the gradient of a unit's mask is
// the sum of W * dW over the unit's rows. Runs without dropout.
model::Prediction mask_gradients(const model::Task& task,
                                 const std::vector<MaskedProduct>& products);

// Returns for each matmul the sum over batches of the squared gradients. Uses only full batches, so
// that no example repeats; fewer examples than a batch form one batch.
std::vector<std::vector<double>> mask_fisher(const model::Task& task,
                                             const std::vector<MaskedProduct>& products,
                                             const RowPass& pass);

}  // namespace smelt::compress
