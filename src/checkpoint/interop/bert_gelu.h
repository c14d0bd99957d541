// The activation of a BERT of transformers.
#pragma once

#include <cstdint>

namespace smelt::checkpoint {

// The gelu of a BERT in a Hugging Face folder whose config.json names gelu by erf: the tanh
// approximation of the original BERT, with a logged warning, or gelu by erf as in transformers.
// Embedding models use the latter.
enum class BertGelu : std::uint8_t { tanh, as_written };

}  // namespace smelt::checkpoint
