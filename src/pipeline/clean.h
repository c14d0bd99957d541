// What a run's folder holds that can be made again or is of no more use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct Leftover {
  std::string path;
  std::string what;  // "an older checkpoint than that of step 7000"
  std::uint64_t bytes = 0;
};

// Checkpoints older than the newest, which is read and found whole before; what killed jobs left;
// and, once the run has taken all its steps, text and data, which are made again where they are
// wanted. Never the newest checkpoint, the best, those kept for ever, the vocabulary, the exported
// folder or what was logged. UsageError for what is no run's folder.
std::vector<Leftover> leftovers(const std::string& run);

// Removes them. UsageError where somebody works in the folder.
void clean(const std::string& run, const std::vector<Leftover>& leftovers);

}  // namespace smelt
