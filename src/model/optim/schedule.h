// Learning rate schedules.
#pragma once

#include <cstdint>
#include <string>

namespace smelt::model {

// How the warm-up (step < warmup_steps) combines with the decay.
enum class Warmup {
  // BERT: learning_rate * step/warmup_steps; the decay starts at step 0, so the rate drops slightly
  // when the warm-up ends
  replaces,
  multiplies,  // ELECTRA, JEstimator: the decayed rate times step/warmup_steps
  precedes,    // Hugging Face: the decay starts when the warm-up ends
  none         // T5: no warm-up
};

// How the factor on the learning rate decays. p is the progress, from 0 to 1, from step 0 (with
// Warmup::precedes from the end of the warm-up) to total_steps.
enum class Decay {
  polynomial,    // end + (1 - end) (1 - p)^power
  after_warmup,  // JEstimator: 1 - (step - warmup)/(decay_to_step - warmup) after the warm-up,
                 // at least 0
  constant,
  cosine,        // end + (1 - end) (1 + cos(pi p)) / 2 (Loshchilov & Hutter 2017)
  inverse_sqrt,  // T5: sqrt(warmup / max(step, warmup)) (Raffel et al. 2020)
  last_steps,    // 1, then linear from 1 to end over the last decay_steps
  last_sqrt  // 1, then end + (1 - end) (1 - sqrt(q)) over the last decay_steps, where q is their
             // progress (Hägele et al. 2024)
};

// A learning rate schedule. Its settings cover the schedules of google-research/bert and electra
// (optimization.py) and jestimator (pretrain.py), and other common ones.
struct Schedule {
  double learning_rate = 1e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;  // of the run
  double power = 1.0;
  Warmup warmup = Warmup::replaces;
  Decay decay = Decay::polynomial;
  std::int64_t decay_to_step = 0;  // for Decay::after_warmup; 0: no decay
  std::int64_t decay_steps = 0;    // for Decay::last_steps and last_sqrt
  double end = 0;                  // final learning rate, as a share of learning_rate
  std::string name = {};           // name in recipes
};

// Returns the learning rate at an optimizer step, computed in f32 like the originals.
float learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace smelt::model
