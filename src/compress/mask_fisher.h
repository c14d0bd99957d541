// How much a model's loss hangs on each unit of its products: the diagonal of the Fisher
// information of masks that stand at 1 before each product (Kwon et al. 2022, "A fast post-training
// pruning framework for transformers", section 4.1), by which units are chosen without training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt {

// The matrix [units * width, H] of a product, by its parameter's name.
struct MaskedProduct {
  std::string parameter;
  std::int64_t units = 0;
};

// For each product f32 [units]: the gradient of the batch's loss by the mask of each unit. As the
// mask stands before the product, that is the sum of W * dW over the unit's rows. No dropout.
Prediction mask_gradients(const Task& task, const std::vector<MaskedProduct>& products);

// The sums over batches of the squares of those gradients, by product. Batches are whole and no
// example is taken twice; fewer examples than a batch are one batch.
std::vector<std::vector<double>> mask_fisher(const Task& task,
                                             const std::vector<MaskedProduct>& products,
                                             const RowPass& pass);

}  // namespace smelt
