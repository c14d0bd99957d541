// Whether a job's temporary files and its outputs have room on their disks, by a guess made before
// the work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/example_job.h"

namespace smelt {

// About so many bytes, of usual text in a usual vocabulary; half of it, or twice, are possible.
struct SpaceNeeded {
  std::uint64_t work = 0, outputs = 0;
};

// `sizes` are those of the job's inputs, drawn from in so many passes.
SpaceNeeded space_needed(const CheckedJob& checked, const std::vector<std::uint64_t>& sizes,
                         std::uint64_t passes);

// Says where the temporary files will lie. UsageError, with both numbers, where a disk has not half
// the room that is needed, or an object on S3 may not be as large as a file would be; a warning for
// a disk between half and all of it. Nothing is refused when the job ignores space.
void check_space(const CheckedJob& checked, const SpaceNeeded& needed, const std::string& work);

}  // namespace smelt
