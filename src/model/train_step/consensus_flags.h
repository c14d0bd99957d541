// Stop and save requests in a multi-host run, which any process can make. They are part of the
// compiled training step or evaluation batch: each device passes its process's requests as an
// argument, and the report counts the devices per request. All processes read the same report of
// the same step, so they act alike without exchanging messages.
#pragma once

#include <string>
#include <vector>

#include "compiler/stablehlo/writer.h"
#include "model/train_step/sharding_plan.h"

namespace smelt::model {

// The requests of one process.
struct ConsensusFlags {
  bool stop = false, save = false;
};

// Names of the counts in a report, in the order of consensus_flags_argument()'s result.
inline constexpr const char* kStopWishes = "stop_wishes";
inline constexpr const char* kSaveWishes = "save_wishes";

// Adds the f32 argument to the program: [2] per replica, or [devices, 2] sharded over the whole
// mesh. Returns the number of devices with each request.
std::vector<compiler::Tensor> consensus_flags_argument(compiler::Program& program,
                                                       const ShardingPlan& placement);
// Adds the counts to a report's figures; does nothing if `counts` is empty.
void report_consensus_flags(const std::vector<compiler::Tensor>& counts,
                            std::vector<std::string>& names,
                            std::vector<compiler::Tensor>& figures);

}  // namespace smelt::model
