// Files in a run's folder that are not needed any more or can be regenerated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::pipeline {

struct Leftover {
  std::string path;
  std::string what;  // description: "older than the checkpoint of step 7000"
  std::uint64_t bytes = 0;
};

// Returns what can be deleted: checkpoints older than the newest, except one that a rollback may
// need; partial files of killed jobs; and, if the run has finished and its text is unchanged, text
// and data, which are regenerated on demand. Reads the newest checkpoint first to verify it. Never
// includes the newest, the best and the permanent checkpoints, the vocabulary, the exported folder
// or logs. Throws UsageError if the folder is not a run's.
std::vector<Leftover> leftovers(const std::string& run);

// Deletes the leftovers. Throws UsageError if another process is working in the folder.
void clean(const std::string& run, const std::vector<Leftover>& leftovers);

}  // namespace smelt::pipeline
