// Learning rate by step.
#pragma once

#include <cstdint>
#include <string>

namespace smelt {

// While step < warmup_steps, and where the decay is counted from.
enum class Warmup {
  replaces,  // BERT's: learning_rate * step/warmup_steps, so the rate drops a little where it ends
  multiplies,  // ELECTRA's and JEstimator's: the decayed rate times step/warmup_steps
  precedes,    // Hugging Face's: the decay begins where the warm-up ends
  none         // T5's: no warm-up
};

// The factor of learning_rate. p is the share of the way to total_steps, from step 0 or, where the
// warm-up precedes, from its end.
enum class Decay {
  polynomial,    // end + (1 - end) (1 - p)^power
  after_warmup,  // JEstimator's: 1 - (step - warmup)/(decay_to_step - warmup) from the warm-up on,
                 // but never below 0
  constant,
  cosine,        // end + (1 - end) (1 + cos(pi p)) / 2 (Loshchilov & Hutter 2017)
  inverse_sqrt,  // T5's: sqrt(warmup / max(step, warmup)) (Raffel et al. 2020)
  last_steps,    // 1, but over the last decay_steps down to end on a line, q their share done
  last_sqrt      // there end + (1 - end) (1 - sqrt(q)) (Hägele et al. 2024)
};

// The originals' schedules (optimization.py of google-research/bert and electra, jestimator's
// pretrain.py), and those in common use.
struct Schedule {
  double learning_rate = 1e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;  // of the run
  double power = 1.0;
  Warmup warmup = Warmup::replaces;
  Decay decay = Decay::polynomial;
  std::int64_t decay_to_step = 0;  // of Decay::after_warmup; 0: no decay
  std::int64_t decay_steps = 0;    // of Decay::last_steps and last_sqrt
  double end = 0;                  // share of learning_rate that is left at the end
  std::string name = {};           // what a recipe calls it
};

// At a step as the optimizer counts it, in f32 as the originals.
float learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace smelt
