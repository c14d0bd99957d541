// Where a run goes back to from a spike of its loss.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/checkpoint.h"
#include "train/spike_record.h"

namespace smelt {

struct RewindFrom {
  std::string model_dir;
  std::int64_t spike = 0;       // the step
  std::int64_t save_every = 1;  // only checkpoints of its multiples count, and the run's first:
  std::int64_t first_step = 0;  // what a signal saved in between must not change the way
};

// The last checkpoint before the spike; those after it, of the way that is given up, are removed.
// SystemError when there is none, or when the run went back to it ten times already.
SlicedCheckpoint rewind(const RewindFrom& from, const SpikeRecord& record);

}  // namespace smelt
