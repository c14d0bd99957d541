#include "data/input_pipeline/length_groups.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/philox.h"

namespace smelt::data {
namespace {

// Returns the index of the step's batch among the batches of its group, which are sorted by length.
std::uint64_t turn_of(std::uint64_t step, const StepGroup& group, std::uint64_t key) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> order;
  for (std::uint64_t i = 0; i < group.count; ++i)
    order.emplace_back(philox(key, group.first, i)[0], i);
  std::ranges::sort(order);
  return order[step - group.first].second;
}

}  // namespace

StepGroup step_group(std::uint64_t step, std::uint64_t batch_size, std::uint64_t epoch_size) {
  constexpr std::uint64_t kFewestGroups = 4;
  const std::uint64_t epoch = step * batch_size / epoch_size;
  const std::uint64_t first = (epoch * epoch_size + batch_size - 1) / batch_size;
  const std::uint64_t end = (epoch + 1) * epoch_size / batch_size;
  if (step >= end) return {.first = step};
  const std::uint64_t steps = end - first;
  const std::uint64_t most = std::clamp<std::uint64_t>(steps / kFewestGroups, 1, kGroupedBatches);
  const std::uint64_t groups = (steps + most - 1) / most;
  const auto begin_of = [&](std::uint64_t group) { return group * steps / groups; };
  std::uint64_t group = (step - first) * groups / steps;
  while (begin_of(group + 1) <= step - first) ++group;
  return {.first = first + begin_of(group), .count = begin_of(group + 1) - begin_of(group)};
}

std::vector<std::uint64_t> positions_by_length(
    std::uint64_t step, std::uint64_t batch_size, std::uint64_t epoch_size,
    const LengthGroups& groups,
    const std::function<std::uint64_t(std::uint64_t position)>& tokens_at) {
  const StepGroup group = step_group(step, batch_size, epoch_size);
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      examples;  // pairs of number of tokens and position
  for (std::uint64_t i = 0; i < group.count * batch_size; ++i) {
    const std::uint64_t position = group.first * batch_size + i;
    examples.emplace_back(tokens_at(position), position);
  }
  std::ranges::sort(examples);
  std::vector<std::uint64_t> out;
  const std::uint64_t begin = turn_of(step, group, groups.key) * batch_size;
  for (std::uint64_t i = begin; i < begin + batch_size; ++i) out.push_back(examples[i].second);
  std::ranges::sort(out);
  return out;
}

Batch cut_to_tokens(const Batch& batch, const io::Features& features, const LengthGroups& groups) {
  const auto tokens = batch.arrays[find_feature(features, groups.tokens)].values<std::int32_t>();
  const std::int64_t longest = groups.lengths.back();
  std::int64_t most = 0;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const auto of =
        tokens.subspan(static_cast<std::size_t>(row * longest), static_cast<std::size_t>(longest));
    const auto last = std::find_if(of.rbegin(), of.rend(), [](auto token) { return token != 0; });
    most = std::max<std::int64_t>(most, of.rend() - last);
  }
  const auto length = std::ranges::lower_bound(groups.lengths, most);
  return *length == longest ? batch : with_length(batch, features, longest, *length);
}

std::vector<std::int64_t> lengths_for(std::vector<std::int64_t> tokens, std::int64_t longest) {
  constexpr std::array kQuantiles{0.3, 0.6, 0.85};
  std::vector<std::int64_t> out;
  std::ranges::sort(tokens);
  for (const double quantile : kQuantiles) {
    if (tokens.empty()) break;
    const auto at = static_cast<std::size_t>(quantile * static_cast<double>(tokens.size() - 1));
    const std::int64_t length = (tokens[at] + kLengthUnit - 1) / kLengthUnit * kLengthUnit;
    if (length < longest && (out.empty() || out.back() < length)) out.push_back(length);
  }
  out.push_back(longest);
  return out;
}

}  // namespace smelt::data
