// Runs programs on the CPU plugin, for tests that compare a device with the reference.
#pragma once

#include <vector>

#include "compiler/stablehlo/writer.h"
#include "pjrt/compile_options.h"
#include "reference/value.h"

namespace smelt::testing {

// Returns the program's results on one CPU device.
std::vector<Value> run_on_cpu(const compiler::Program& program, const std::vector<Value>& arguments,
                              const pjrt::CompileOptions& options = {});

// Runs the program partitioned over the devices of its mesh. Arguments and results are indexed
// [device][i] and contain the device's shard.
std::vector<std::vector<Value>> run_on_mesh(const compiler::Program& program,
                                            const std::vector<std::vector<Value>>& arguments);

// Runs the program on one replica per list of arguments.
std::vector<std::vector<Value>> run_on_replicas(const compiler::Program& program,
                                                const std::vector<std::vector<Value>>& arguments);

}  // namespace smelt::testing
