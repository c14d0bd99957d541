// How a program is compiled for the devices of a placement.
#pragma once

#include "runtime/compile_options.h"
#include "step/placement.h"

namespace smelt {

CompileOptions compile_options(const Placement& placement);

}  // namespace smelt
