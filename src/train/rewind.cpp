#include "train/rewind.h"

#include <algorithm>

#include "base/error.h"
#include "io/filesystem/folder.h"

namespace smelt::train {

constexpr std::int64_t kMostRewinds = 10;  // to the same checkpoint

std::optional<std::int64_t> rewind_target(const std::vector<std::int64_t>& steps,
                                          std::int64_t spike, std::int64_t save_every,
                                          std::int64_t first_step) {
  std::optional<std::int64_t> first, any;
  for (const std::int64_t step : steps) {
    if (step >= spike) continue;
    any = std::max(step, any.value_or(step));
    if (step % save_every == 0 || step == first_step) first = std::max(step, first.value_or(step));
  }
  return first ? first : any;
}

checkpoint::SlicedCheckpoint rewind(const RewindFrom& from, const SpikeRecord& record) {
  const auto to = rewind_target(checkpoint::checkpoint_steps(from.model_dir), from.spike,
                                from.save_every, from.first_step);
  const std::string where = str("train: the loss of step ", from.spike, " is a spike, and ");
  if (!to)
    throw SystemError(str(where, from.model_dir, " has no checkpoint to roll back to"),
                      str("raise ", from.fields("checkpoint.max_to_keep"), ", or set ",
                          from.fields("loss_spike.action"), " to skip"));
  if (record.rewinds_to(*to) >= kMostRewinds)
    throw SystemError(
        str(where, "the run has rolled back to step ", *to, " ", kMostRewinds, " times already"),
        str("raise ", from.fields("loss_spike.skip_batches"), " or lower ",
            from.fields("optimizer.learning_rate"), "; if this is not a spike, raise ",
            from.fields("loss_spike.sigmas"), " or ", from.fields("loss_spike.window")));
  // Load the checkpoint before removing later ones, because it may be damaged.
  checkpoint::SlicedCheckpoint back = checkpoint::load_sliced_checkpoint(from.model_dir, *to);
  from.require_held();
  remove_later_checkpoints(from.model_dir, *to);
  return back;
}

std::vector<std::int64_t> remove_later_checkpoints(const std::string& model_dir,
                                                   std::int64_t step) {
  std::vector<std::int64_t> removed = checkpoint::checkpoint_steps(model_dir);
  std::erase_if(removed, [&](std::int64_t other) { return other <= step; });
  for (const std::int64_t other : removed)
    checkpoint::remove_checkpoint(checkpoint::committed_path(model_dir, other));
  return removed;
}

}  // namespace smelt::train
