// Groups examples of similar length into batches to reduce padding. Up to kGroupedBatches
// consecutive batches of an epoch's shuffled order form a group; its examples are sorted by length
// and split into the same number of batches, which are used in random order. The result is a
// function of the seed and the step, and each example is used once per epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/input_pipeline/batch.h"

namespace smelt::data {

constexpr std::uint64_t kGroupedBatches = 32;

struct LengthGroups {
  std::string tokens;  // the feature whose nonzero values are tokens
  // ascending lengths to truncate batches to; the last is the full length
  std::vector<std::int64_t> lengths;
  std::uint64_t key = 0;  // random key that determines the order of a group's batches
};

// The steps in the same group as a step. All their batches are in one epoch, so that no example
// occurs twice in a group; a batch that contains the end of an epoch is a separate group. An epoch
// that contains four or more whole batches has at least four groups. With fewer groups, the same
// examples would be in a batch together in every epoch.
struct StepGroup {
  std::uint64_t first = 0, count = 1;
};
StepGroup step_group(std::uint64_t step, std::uint64_t batch_size, std::uint64_t epoch_size);

// Returns the positions of a step's batch. `tokens_at` returns the number of tokens of the example
// at a position.
std::vector<std::uint64_t> positions_by_length(
    std::uint64_t step, std::uint64_t batch_size, std::uint64_t epoch_size,
    const LengthGroups& groups,
    const std::function<std::uint64_t(std::uint64_t position)>& tokens_at);

// Returns the batch truncated to the shortest of the lengths that holds all of its tokens.
Batch cut_to_tokens(const Batch& batch, const io::Features& features, const LengthGroups& groups);

// Returns a few lengths for examples with these numbers of tokens: ascending multiples of
// kLengthUnit near the quantiles, and `longest` last.
constexpr std::int64_t kLengthUnit = 16;
std::vector<std::int64_t> lengths_for(std::vector<std::int64_t> tokens, std::int64_t longest);

}  // namespace smelt::data
