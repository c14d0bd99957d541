#include "train/spikes.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "nn/layers.h"
#include "ops/ops.h"

namespace smelt {
namespace {

constexpr const char* kSkippedSteps = "skipped_steps";
constexpr const char* kRewinds = "rewinds";

}  // namespace

Tensor add_spike_test(const Spikes& spikes, Tensor loss, Tensor step, StateLayout& layout,
                      Graph& graph, std::vector<Tensor>& results) {
  const Shape shape{DType::f32, {spikes.window}};
  const Tensor before = graph.argument(shape);
  const auto count = static_cast<double>(spikes.window);
  const Tensor mean = reduce_sum(before, {0}) / count;
  const Tensor variance = reduce_sum(square(before - mean), {0}) / count;
  const Tensor full = compare(step, full_like(step, count), Compare::ge);
  results.push_back(concatenate({slice_axis(before, 0, 1, spikes.window), reshape(loss, {1})}, 0));
  layout.tensors.push_back({.name = kSpikeLosses, .shape = shape, .init = {}});
  return bitwise_and(full, compare(loss, mean + spikes.sigmas * sqrt(variance), Compare::gt));
}

SpikeRecord::SpikeRecord(const nlohmann::json& settings) {
  if (settings.contains(kSkippedSteps))
    skipped_ = settings[kSkippedSteps].get<std::vector<std::int64_t>>();
  if (settings.contains(kRewinds))
    for (const auto& rewind : settings[kRewinds]) rewound(rewind.at("step"), rewind.at("batches"));
}

SpikeAction SpikeRecord::found(SpikeAction action, std::int64_t step, double loss) {
  spdlog::warn("train: the loss of step {}, {}, is a spike: its update is left out", step, loss);
  if (action == SpikeAction::skip) skipped_.push_back(step);
  return action;
}

void SpikeRecord::rewound(std::int64_t step, std::int64_t batches) {
  std::erase_if(skipped_, [&](std::int64_t skipped) { return skipped > step; });
  rewinds_.push_back({step, batches});
}

std::int64_t SpikeRecord::gone_over() const {
  std::int64_t out = 0;
  for (const Rewind& rewind : rewinds_) out += rewind.batches;
  return out;
}

std::int64_t SpikeRecord::rewinds_to(std::int64_t step) const {
  return std::ranges::count(rewinds_, step, &Rewind::step);
}

void SpikeRecord::put(nlohmann::json& settings) const {
  if (!skipped_.empty()) settings[kSkippedSteps] = skipped_;
  if (rewinds_.empty()) return;
  nlohmann::json& list = settings[kRewinds] = nlohmann::json::array();
  for (const Rewind& rewind : rewinds_)
    list.push_back({{"step", rewind.step}, {"batches", rewind.batches}});
}

}  // namespace smelt
