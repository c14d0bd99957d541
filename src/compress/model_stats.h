// Sizes of a model's folder without running it: bytes, parameters, multiply-accumulates.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "compress/source_folder.h"

namespace smelt::compress {

// Sizes of a model.
struct ModelFacts {
  std::uint64_t bytes = 0;       // of the files needed for inference: weights, config, tokenizer
  std::uint64_t parameters = 0;  // without quantization scales
  std::uint64_t parameters_of_tables = 0;  // of these, parameters of embedding tables
  Json steps;                              // JSON array of compression steps, as in compress.json
};
// Returns the sizes of a model.
ModelFacts facts_of(const SourceFolder& model);

// Returns the multiply-accumulates for one text of L tokens, and for a T5 with an output of T
// tokens: matmuls, attention scores and weighted sums. A T5 uses a KV cache, so each output token
// is computed once.
double operations_of(const SourceFolder& model, std::int64_t L, std::int64_t T);

}  // namespace smelt::compress
