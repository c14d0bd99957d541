// The activation of a BERT of transformers.
#pragma once

#include <cstdint>

namespace smelt::checkpoint {

// The gelu of a BERT in a Hugging Face folder whose config.json names gelu by erf: the tanh
// approximation of the original BERT, for the start of a recipe with `hidden_act: gelu` (where
// load_weights() logs a warning), or gelu by erf as in transformers, for everything else.
enum class BertGelu : std::uint8_t { tanh, as_written };

}  // namespace smelt::checkpoint
