// Compile options of a program for the devices of a placement.
#pragma once

#include "model/train_step/sharding_plan.h"
#include "pjrt/compile_options.h"

namespace smelt::execution {

pjrt::CompileOptions compile_options(const model::ShardingPlan& placement);

}  // namespace smelt::execution
