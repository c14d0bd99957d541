// Runs programs on the CPU plugin, for tests that compare a device with the reference.
#pragma once

#include <vector>

#include "compiler/stablehlo/writer.h"
#include "pjrt/compile_options.h"
#include "reference/value.h"

namespace smelt::testing {

// The program's results on one CPU device.
std::vector<Value> run_on_cpu(const compiler::Program& program, const std::vector<Value>& arguments,
                              const pjrt::CompileOptions& options = {});

// The program partitioned over the devices of its mesh: arguments[device][i], results alike, each
// the device's own part.
std::vector<std::vector<Value>> run_on_mesh(const compiler::Program& program,
                                            const std::vector<std::vector<Value>>& arguments);

// The program on as many replicas as there are lists of arguments.
std::vector<std::vector<Value>> run_on_replicas(const compiler::Program& program,
                                                const std::vector<std::vector<Value>>& arguments);

}  // namespace smelt::testing
