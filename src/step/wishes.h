// What a process of several wishes, told to all by a training step or a batch of an evaluation:
// each device is given its process's wishes, and the report says for how many devices each was
// wished. All read the same report of the same step, so all do the same, without a message between
// them.
#pragma once

#include <string>
#include <vector>

#include "hlo/writer.h"
#include "step/placement.h"

namespace smelt {

struct Wishes {
  bool stop = false, save = false;
};

// Figures of the report, in the order of wishes_argument()'s.
inline constexpr const char* kStopWishes = "stop_wishes";
inline constexpr const char* kSaveWishes = "save_wishes";

// Adds the argument, f32: of a replica [2], of a mesh [devices, 2] and split over all of it. Gives
// how many devices have each wish.
std::vector<Tensor> wishes_argument(Program& program, const Placement& placement);
// Adds these to a report's figures; of none nothing.
void report_wishes(const std::vector<Tensor>& wishes, std::vector<std::string>& names,
                   std::vector<Tensor>& figures);

}  // namespace smelt
