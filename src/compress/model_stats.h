// What a model's folder comes to without being run: parameters, operations, bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "compress/source_folder.h"

namespace smelt {

struct ModelFacts {
  std::uint64_t bytes = 0;       // of the files that go along with it: weights, config, tokenizer
  std::uint64_t parameters = 0;  // scales of codes are none
  std::uint64_t parameters_of_tables = 0;  // of words, positions and segments, among them
  Json steps;  // an array: how it was compressed, as compress.json has it
};
ModelFacts facts_of(const SourceFolder& model);

// Multiplications with an addition of one text of L tokens, of a T5 with an answer of T: those of
// matrices and of attention's scores and sums. A T5's keys and values of what was said are kept, so
// that each token is computed once.
double operations_of(const SourceFolder& model, std::int64_t L, std::int64_t T);

}  // namespace smelt
