// The activation of a BERT of transformers.
#pragma once

#include <cstdint>

namespace smelt::checkpoint {

// How to read `gelu` in the config.json of a BERT, where transformers computes it with erf. `tanh`:
// as the tanh approximation of the original BERT, to train a recipe with `hidden_act: gelu`;
// load_weights() logs a warning. `as_written`: with erf, as transformers, for everything else.
enum class BertGelu : std::uint8_t { tanh, as_written };

}  // namespace smelt::checkpoint
