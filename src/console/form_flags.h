// The flags of how a step is computed and spread over devices, in the words of step/placement.h's
// flag(). What they are written to must live until the command line is parsed.
#pragma once

#include <CLI/CLI.hpp>

#include "step/placement.h"

namespace smelt {

void add_form_flags(CLI::App& command, ComputeChoice& compute, MeshChoice& mesh);

}  // namespace smelt
