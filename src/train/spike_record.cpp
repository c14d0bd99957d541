#include "train/spike_record.h"

#include <algorithm>
#include <memory>
#include <span>

#include "base/log.h"

namespace smelt::train {
namespace {

constexpr const char* kSkippedSteps = "skipped_steps";
constexpr const char* kRewinds = "rewinds";

}  // namespace

void begin_spike_losses(const model::StateLayout& layout,
                        checkpoint::SlicedCheckpoint& checkpoint) {
  constexpr float kAboveAny = 1e15F;  // its square is still finite
  const auto wanted =
      std::ranges::find(layout.tensors, model::kSpikeLosses, &model::StateTensor::name);
  if (wanted == layout.tensors.end()) return;
  const auto found = checkpoint.tensors.find(model::kSpikeLosses);
  if (found != checkpoint.tensors.end() && found->second.shape == wanted->shape) return;
  const auto losses = std::make_shared<std::vector<float>>(
      static_cast<std::size_t>(wanted->shape.dims.front()), kAboveAny);
  checkpoint.tensors[model::kSpikeLosses] = {
      .shape = wanted->shape,
      .slices = {{.begin = {0}, .part = {wanted->shape, std::as_bytes(std::span(*losses))}}}};
  checkpoint.owners.push_back(losses);
}

SpikeRecord::SpikeRecord(const Json& settings) {
  if (settings.contains(kSkippedSteps))
    skipped_ = settings[kSkippedSteps].get<std::vector<std::int64_t>>();
  if (settings.contains(kRewinds))
    for (const auto& rewind : settings[kRewinds]) rewound(rewind.at("step"), rewind.at("batches"));
}

model::SpikeAction SpikeRecord::found(model::SpikeAction action, std::int64_t step, double loss) {
  log_warning("train: the loss of step {}, {}, is a spike: its update is skipped", step, loss);
  if (action == model::SpikeAction::skip) skipped_.push_back(step);
  return action;
}

void SpikeRecord::rewound(std::int64_t step, std::int64_t batches) {
  std::erase_if(skipped_, [&](std::int64_t skipped) { return skipped > step; });
  rewinds_.push_back({step, batches});
}

std::int64_t SpikeRecord::skipped_batches() const {
  std::int64_t out = 0;
  for (const Rewind& rewind : rewinds_) out += rewind.batches;
  return out;
}

std::int64_t SpikeRecord::rewinds_to(std::int64_t step) const {
  return std::ranges::count(rewinds_, step, &Rewind::step);
}

void SpikeRecord::put(Json& settings) const {
  if (!skipped_.empty()) settings[kSkippedSteps] = skipped_;
  if (rewinds_.empty()) return;
  Json& list = settings[kRewinds] = Json::array();
  for (const Rewind& rewind : rewinds_)
    list.push_back({{"step", rewind.step}, {"batches", rewind.batches}});
}

}  // namespace smelt::train
