// The lengths of the random examples of `smelt bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/input_pipeline/pack.h"

namespace smelt::cli {

struct BenchLengths {
  std::vector<std::int64_t> tokens;          // number of tokens of each example
  std::optional<data::PackingPlan> packing;  // nullopt: the examples are padded
};

// Draws the lengths of several batches from the numbers of a file, one per line. Without `packs`,
// returns the lengths of the first batch. With `packs`, chooses the number of packed rows that
// makes steps shortest on average over these batches, and returns the lengths of the first batch
// that fits into them. Throws UsageError if a line is not a number from 1 to plan.length.
BenchLengths draw_lengths(const std::string& file, const data::PackingPlan& plan, bool packs);

// Truncates the sequences of a batch to `lengths.tokens`, and packs them if `lengths.packing` is
// set.
data::Batch with_lengths(data::Batch batch, const io::Features& features,
                         const BenchLengths& lengths);

}  // namespace smelt::cli
