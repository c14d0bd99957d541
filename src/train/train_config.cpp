#include "train/train_config.h"

#include <cmath>

#include "train/training_clock.h"

namespace smelt::train {

std::int64_t schedule_length(const TrainConfig& t) {
  return t.seconds > 0 ? std::llround(t.seconds * kScheduleUnitsPerSecond) : t.steps;
}

model::TrainingConfig step_config(const TrainConfig& t, const model::Task& task) {
  model::TrainingConfig c;
  c.batch_size = t.batch_size;
  c.schedule = model::make_schedule(t.schedule, t.optimizer.learning_rate, schedule_length(t));
  c.clip_norm = model::clip_norm_of(t.optimizer);
  // Amos applies clip_value in its own update.
  if (t.optimizer.type != "amos") c.clip_value = model::clip_value_of(t.optimizer);
  const bool has_layer_rates = task.layer_rates && t.optimizer.layer_decay != 1;
  c.rules = model::parameter_rules_of(
      t.optimizer, has_layer_rates ? task.layer_rates(t.optimizer.layer_decay) : std::string());
  c.pruning = model::make_pruning(t.pruning, t.steps, t.schedule.warmup_steps);
  c.optimizer =
      model::with_pruning(model::make_optimizer(t.optimizer, task.name), t.pruning, c.pruning);
  c.ema_decay = t.ema_decay;
  c.spikes = t.loss_spike;
  c.reduction = t.reduction;
  c.micro_batches = t.gradient_accumulation_steps;
  c.packing = t.packing;
  c.seed = static_cast<std::uint64_t>(t.seed);
  return c;
}

}  // namespace smelt::train
