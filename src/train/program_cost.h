// What a compiled program takes, by its compiler's own count.
#pragma once

#include <string>

#include "evaluation/tracking/metrics_file.h"
#include "pjrt/compiled_program.h"

namespace smelt {

// One device's: {"flops", "bytes_accessed", "argument_bytes", "temporary_bytes", "peak_bytes"}.
// What the plugin does not say, or calls 0, is not there. A loop's body counts once.
Record program_cost(const CompiledProgram& program);

// "1.23e+09 operations, 45.6 MB read and written, …": of what there is; empty for nothing.
std::string cost_text(const Record& cost);

}  // namespace smelt
