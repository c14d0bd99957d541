#include "model/train_step/carried.h"

#include "model/train_step/averages.h"
#include "model/train_step/step_guard.h"

namespace smelt {

std::vector<Tensor> Carried::in_order() const {
  std::vector<Tensor> out = values;
  out.insert(out.end(), slots.begin(), slots.end());
  out.insert(out.end(), averages.begin(), averages.end());
  if (losses) out.push_back(losses);
  out.push_back(flag);
  return out;
}

StateLayout carried_layout(const TrainingConfig& c, const Parameters& parameters,
                           const PartitionRules& partition) {
  StateLayout out = training_layout(parameters, c.optimizer, partition);
  if (c.ema_decay > 0) add_averages(out);
  if (c.spikes.action != SpikeAction::none) out.tensors.push_back(spike_losses(c.spikes));
  out.tensors.push_back(step_flag());
  return out;
}

Carried carried_arguments(Graph& graph, const StateLayout& layout, const TrainingConfig& c,
                          const Parameters& parameters) {
  const bool has_losses = c.spikes.action != SpikeAction::none;
  const std::size_t averages = c.ema_decay > 0 ? layout.values : 0;
  const std::size_t behind_slots = averages + (has_losses ? 1 : 0) + 1;
  std::size_t at = layout.values;
  const auto next = [&] { return graph.argument(layout.tensors.at(at++).shape); };
  Carried out;
  for (const Parameter& p : parameters.all()) out.values.push_back(p.tensor);
  while (at + behind_slots < layout.tensors.size()) out.slots.push_back(next());
  for (std::size_t i = 0; i < averages; ++i) out.averages.push_back(next());
  if (has_losses) out.losses = next();
  out.flag = next();
  return out;
}

}  // namespace smelt
