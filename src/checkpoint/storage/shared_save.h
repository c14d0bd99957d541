// A checkpoint that several processes write together, each what its devices hold.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/file_plan.h"

namespace smelt {

// What each process gives under a key, which is used once, by rank; throws where one does not come.
// No device is waited for.
using Gather =
    std::function<std::vector<std::string>(const std::string& key, const std::string& payload)>;

struct SaveShare {
  int process = 0;       // as the holders of slices are numbered
  bool leads = true;     // of one process alone, that of rank 0: it clears up, renames and removes
  std::string key = {};  // begins the keys: of this save alone
  Gather gather = {};
  double seen_seconds = 30;  // until what another has written must be seen: as late as networks are
};

// save_sliced_checkpoint() of all processes' slices together. `own` are those that this process
// holds, `held` those of all, the same everywhere. It has succeeded or failed on all alike: an
// Error of one, whose rank it names, is thrown by all, and nothing of the save remains.
void save_shared_checkpoint(const std::string& model_dir, std::int64_t step,
                            const SlicedTensors& own, const std::vector<HeldSlice>& held,
                            const Json& state, const SaveShare& share,
                            const SaveOptions& options = {});

// What the one that leads does alone, with its outcome for all.
void lead_alone(const SaveShare& share, const std::function<void()>& work);

}  // namespace smelt
