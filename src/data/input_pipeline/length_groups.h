// Batches of examples of about one length, so that they hold little padding: the examples of up to
// kGroupedBatches batches that follow one another in an epoch's shuffled order are sorted by their
// tokens, cut into as many batches, and these taken in an order of their own. Which they are is a
// function of the seed and the step; each example is still taken once an epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/input_pipeline/batch.h"

namespace smelt {

constexpr std::uint64_t kGroupedBatches = 32;

struct LengthGroups {
  std::string tokens;                 // the feature whose numbers other than 0 are tokens
  std::vector<std::int64_t> lengths;  // ascending, that batches are cut to; the last: all of a row
  std::uint64_t key = 0;              // of the order of a group's batches
};

// The steps that a step is grouped with. All their batches lie in one epoch, so that no example
// stands twice in a group; one that holds the end of an epoch is a group of its own. An epoch has
// at least four groups, or else which examples share a batch would be the same in each epoch.
struct StepGroup {
  std::uint64_t first = 0, count = 1;
};
StepGroup step_group(std::uint64_t step, std::uint64_t batch_size, std::uint64_t epoch_size);

// The positions of a step's batch; `tokens_at` says how many an example has there.
std::vector<std::uint64_t> positions_by_length(
    std::uint64_t step, std::uint64_t batch_size, std::uint64_t epoch_size,
    const LengthGroups& groups,
    const std::function<std::uint64_t(std::uint64_t position)>& tokens_at);

// The batch with rows of the shortest of the lengths that holds all of its tokens.
Batch cut_to_tokens(const Batch& batch, const Features& features, const LengthGroups& groups);

// Few lengths for examples of so many tokens each, up to `longest`: multiples of kLengthUnit near
// quantiles of them, ascending, `longest` the last.
constexpr std::int64_t kLengthUnit = 16;
std::vector<std::int64_t> lengths_for(std::vector<std::int64_t> tokens, std::int64_t longest);

}  // namespace smelt
