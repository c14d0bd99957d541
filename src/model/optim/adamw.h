// AdamW (Loshchilov & Hutter 2019, Algorithm 2); the original BERT's variant without bias
// correction (google-research/bert optimization.py, AdamWeightDecayOptimizer); and optax's, which
// decays all parameters.
#pragma once

#include <string_view>

#include "model/optim/optimizer.h"

namespace smelt::model {

enum class BiasCorrection { off, on };
enum class DecayOf { all, kernels };  // kernels: parameters for which has_weight_decay() is true

// Settings of AdamW.
struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  BiasCorrection bias_correction = BiasCorrection::off;
  DecayOf decay_of = DecayOf::kernels;
};

// Returns false if the name contains LayerNorm, layer_norm or bias, as in the original BERT.
bool has_weight_decay(std::string_view parameter_name);

// Returns whether these settings apply weight decay to the parameter.
bool decays(const AdamW& config, const Parameter& parameter);

// One Adam update before it is scaled by the learning rate.
struct AdamStep {
  compiler::Tensor direction;  // includes weight decay
  std::vector<compiler::Tensor> slots;
};
// Computes an Adam update and the new slots.
AdamStep adam_step(const AdamW& config, const OptimizerStep& step, const Parameter& parameter,
                   std::span<const compiler::Tensor> slots, compiler::Tensor gradient);

// Returns the optimizer. Its slots adam_m and adam_v have the parameter's shape.
Optimizer adamw(const AdamW& config);

}  // namespace smelt::model
