// Parameters of a program that are held as they are given, beside those that it trains.
#pragma once

#include <cstdint>

#include "model/train_step/program.h"

namespace smelt {

// Puts what the objective, built just now, holds into `out`; how many arguments it is. They lie
// before those of the parameters. UsageError where the task's FrozenModel has no value, or one of
// another shape, for one of them.
std::int64_t take_held(const Task& task, const Scope& root, const Parameters& parameters,
                       StepProgram& out);

}  // namespace smelt
