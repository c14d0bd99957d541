// AdamW (Loshchilov & Hutter 2019, Algorithm 2), the original BERT's variant of it without bias
// correction (google-research/bert optimization.py, AdamWeightDecayOptimizer), and optax's, which
// decays every parameter.
#pragma once

#include <string_view>

#include "model/optim/optimizer.h"

namespace smelt {

enum class BiasCorrection { off, on };
enum class DecayOf { all, kernels };  // kernels: where has_weight_decay(name)

struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  BiasCorrection bias_correction = BiasCorrection::off;
  DecayOf decay_of = DecayOf::kernels;
};

// The original's exclusion: no decay where the name contains LayerNorm, layer_norm or bias.
bool has_weight_decay(std::string_view parameter_name);

// Whether these settings decay the parameter.
bool decays(const AdamW& config, const Parameter& parameter);

struct AdamStep {
  Tensor direction;  // what the rate multiplies, with the decay
  std::vector<Tensor> slots;
};
AdamStep adam_step(const AdamW& config, const OptimizerStep& step, const Parameter& parameter,
                   std::span<const Tensor> slots, Tensor gradient);

// Slots adam_m and adam_v, of the parameter's shape.
Optimizer adamw(const AdamW& config);

}  // namespace smelt
