// The cost of a compiled program, as its compiler estimates it.
#pragma once

#include <string>

#include "evaluation/tracking/metrics_file.h"
#include "pjrt/compiled_program.h"

namespace smelt::train {

// Returns the cost on one device: {"flops", "bytes_accessed", "argument_bytes", "temporary_bytes",
// "peak_bytes"}. Omits values that the plugin does not provide or reports as 0. The body of a loop
// counts once.
evaluation::Record program_cost(const pjrt::CompiledProgram& program);

// Returns text such as "1.23e+09 operations, 45.6 MB read and written, …", with the values that are
// present.
std::string cost_text(const evaluation::Record& cost);

}  // namespace smelt::train
