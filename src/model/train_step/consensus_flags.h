// Requests to stop or save that any process of a multi-host run can make. They travel in the
// compiled training step or evaluation batch: each device gets its process's requests as an
// argument, and the report counts the devices of each request. All processes read the same report
// of the same step, so all act alike, without a message between them.
#pragma once

#include <string>
#include <vector>

#include "compiler/stablehlo/writer.h"
#include "model/train_step/sharding_plan.h"

namespace smelt {

struct ConsensusFlags {
  bool stop = false, save = false;
};

// Figures of the report, in the order of wishes_argument()'s.
inline constexpr const char* kStopWishes = "stop_wishes";
inline constexpr const char* kSaveWishes = "save_wishes";

// Adds the argument, f32: of a replica [2], of a mesh [devices, 2] and split over all of it. Gives
// how many devices have each wish.
std::vector<Tensor> wishes_argument(Program& program, const ShardingPlan& placement);
// Adds these to a report's figures; of none nothing.
void report_wishes(const std::vector<Tensor>& wishes, std::vector<std::string>& names,
                   std::vector<Tensor>& figures);

}  // namespace smelt
