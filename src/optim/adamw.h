// AdamW (Loshchilov & Hutter 2019, Algorithm 2) and the original BERT's variant of it without bias
// correction (google-research/bert optimization.py, AdamWeightDecayOptimizer).
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace smelt {

enum class BiasCorrection { off, on };

struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  BiasCorrection bias_correction = BiasCorrection::off;
};

// One parameter with its moments, all of one shape.
struct ParameterState {
  Tensor value, m, v;
};

// The original's exclusion: no decay where the name contains LayerNorm, layer_norm or bias.
bool has_weight_decay(std::string_view parameter_name);

// step: s32 scalar, steps done before this one; rate: f32 scalar.
ParameterState adamw(const AdamW& config, Tensor rate, Tensor step, const ParameterState& state,
                     Tensor gradient, bool decays);

}  // namespace smelt
