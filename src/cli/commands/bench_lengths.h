// The lengths of the random examples of `smelt bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/input_pipeline/pack.h"

namespace smelt::cli {

struct BenchLengths {
  std::vector<std::int64_t> tokens;          // of each example
  std::optional<data::PackingPlan> packing;  // nullopt: the examples are padded
};

// Draws the lengths of several batches from the numbers of a file, one per line. Returns those of
// the first batch or, if `packs`, of the first that fits into the number of packed rows that suits
// them all. Throws UsageError if a line is not a number from 1 to plan.length.
BenchLengths draw_lengths(const std::string& file, const data::PackingPlan& plan, bool packs);

// Cuts the sequences of a batch to their lengths, and packs them if they are to be packed.
data::Batch with_lengths(data::Batch batch, const io::Features& features,
                         const BenchLengths& lengths);

}  // namespace smelt::cli
