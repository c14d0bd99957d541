// Saves one checkpoint from several processes. Each process writes the slices on its own devices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/file_plan.h"

namespace smelt::checkpoint {

// An all-gather of strings: returns the payloads of all processes, indexed by rank. A key may be
// used once. Throws if a process does not take part. Does not wait for computations on devices.
using Gather =
    std::function<std::vector<std::string>(const std::string& key, const std::string& payload)>;

// The part of one process in a shared save.
struct SaveShare {
  int process = 0;       // rank of this process, as in OwnedSlice::holders
  bool leads = true;     // true on rank 0 alone, which cleans up, renames and deletes
  std::string key = {};  // prefix of the keys, unique to this save
  Gather gather = {};
  // seconds to wait until files of other hosts are visible (network filesystems lag)
  double seen_seconds = 30;
};

// Saves the slices of all processes as one checkpoint, like save_sliced_checkpoint(). `own` are the
// slices of this process and `held` those of all, equal on every process. Succeeds or fails on all
// processes alike: an error on one, with its rank in the message, is thrown on all, and the partial
// checkpoint is removed.
void save_shared_checkpoint(const std::string& model_dir, std::int64_t step,
                            const SlicedTensors& own, const std::vector<OwnedSlice>& held,
                            const Json& state, const SaveShare& share,
                            const SaveOptions& options = {});

// Runs `work` on rank 0 alone. If it throws an Error, every process throws a SystemError with the
// same message. A BugError is thrown on rank 0 only.
void run_on_rank0(const SaveShare& share, const std::function<void()>& work);

}  // namespace smelt::checkpoint
