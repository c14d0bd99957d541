#include "train/train_config.h"

namespace smelt {

TrainingConfig step_config(const TrainConfig& t, const Task& task) {
  TrainingConfig c;
  c.batch_size = t.batch_size;
  c.schedule = make_schedule(t.schedule, t.optimizer.learning_rate, t.steps);
  c.clip_norm = clip_norm_of(t.optimizer);
  // Amos applies clip_value in its own update.
  if (t.optimizer.type != "amos") c.clip_value = clip_value_of(t.optimizer);
  const bool has_layer_rates = task.layer_rates && t.optimizer.layer_decay != 1;
  c.rules = parameter_rules_of(
      t.optimizer, has_layer_rates ? task.layer_rates(t.optimizer.layer_decay) : std::string());
  c.pruning = make_pruning(t.pruning, t.steps, t.schedule.warmup_steps);
  c.optimizer = with_pruning(make_optimizer(t.optimizer, task.name), t.pruning, c.pruning);
  c.ema_decay = t.ema_decay;
  c.spikes = t.loss_spike;
  c.reduction = t.reduction;
  c.micro_batches = t.gradient_accumulation_steps;
  c.seed = static_cast<std::uint64_t>(t.seed);
  return c;
}

}  // namespace smelt
