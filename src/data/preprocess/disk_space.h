// Checks before a job that the disks have room for its temporary files and outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/example_job.h"

namespace smelt::data {

// Estimated bytes for typical text and a typical vocabulary. The actual size may be half or twice
// this.
struct SpaceNeeded {
  std::uint64_t work = 0, outputs = 0;
};

// `sizes` are the sizes of the job's inputs; `passes` is the number of times that examples are
// drawn from each input.
SpaceNeeded space_needed(const CheckedJob& checked, const std::vector<std::uint64_t>& sizes,
                         std::uint64_t passes);

// Logs where the temporary files will be. Throws UsageError with both numbers if a disk has less
// than half the needed space, or if an output would exceed the size limit of an S3 object. Logs a
// warning if a disk has between half and all of it. Does not throw if the job ignores space.
void check_space(const CheckedJob& checked, const SpaceNeeded& needed, const std::string& work);

}  // namespace smelt::data
