// Batches of examples of about one length, so that they hold little padding: the examples of
// kGroupedBatches batches that follow one another in the shuffled order are sorted by their tokens,
// cut into as many batches, and these taken in an order of their own. Which they are is a function
// of the seed and the step; each example is still taken once an epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/batch.h"

namespace smelt {

constexpr std::uint64_t kGroupedBatches = 32;

struct LengthGroups {
  std::string tokens;                 // the feature whose numbers other than 0 are tokens
  std::vector<std::int64_t> lengths;  // ascending, that batches are cut to; the last: all of a row
  std::uint64_t key = 0;              // of the order of a group's batches
};

// The positions of a step's batch; `tokens_at` says how many an example has there.
std::vector<std::uint64_t> positions_by_length(
    std::uint64_t step, std::uint64_t batch_size, const LengthGroups& groups,
    const std::function<std::uint64_t(std::uint64_t position)>& tokens_at);

// The batch with rows of the shortest of the lengths that holds all of its tokens.
Batch cut_to_tokens(const Batch& batch, const Features& features, const LengthGroups& groups);

// Few lengths for examples of so many tokens each, up to `longest`: multiples of kLengthUnit near
// quantiles of them, ascending, `longest` the last.
constexpr std::int64_t kLengthUnit = 16;
std::vector<std::int64_t> lengths_for(std::vector<std::int64_t> tokens, std::int64_t longest);

}  // namespace smelt
