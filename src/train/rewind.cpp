#include "train/rewind.h"

#include "base/error.h"
#include "store/folder.h"

namespace smelt {

constexpr std::int64_t kMostRewinds = 10;  // to one checkpoint

SlicedCheckpoint rewind(const RewindFrom& from, const SpikeRecord& record) {
  std::optional<std::int64_t> to;
  const auto steps = checkpoint_steps(from.model_dir);
  for (const std::int64_t step : steps)
    if (step < from.spike && (step % from.save_every == 0 || step == from.first_step)) to = step;
  const std::string where = str("train: the loss of step ", from.spike, " is a spike, and ");
  if (!to)
    throw SystemError(str(where, from.model_dir, " holds no checkpoint to go back to"),
                      "raise train.keep, or set train.spike_action to skip");
  if (record.rewinds_to(*to) >= kMostRewinds)
    throw SystemError(
        str(where, "the run went back to step ", *to, " ", kMostRewinds, " times already"),
        "raise train.rewind_skip or lower train.learning_rate; if it is no spike, raise "
        "train.spike_sigmas or train.spike_window");
  // It must be good before others are removed.
  SlicedCheckpoint back = load_sliced_checkpoint(from.model_dir, *to);
  for (const std::int64_t step : steps)
    if (step > *to) remove_checkpoint(committed_path(from.model_dir, step));
  return back;
}

}  // namespace smelt
