// Estimates of a TPU compiler for the run time of a program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/mesh.h"
#include "pjrt/compiled_module.h"

namespace smelt::pjrt {

// libtpu's `estimated_cycles` of one instruction, over all its runs in one device's program.
struct InstructionCycles {
  std::string name, op_name, opcode;
  double cycles = 0;  // over all runs
  double runs = 1;    // number of runs: product of the trip counts of the enclosing loops
  // Bytes of operands and results over all runs: in total, and those in HBM. If a loop uses one
  // slice of an array per iteration, each run counts only that slice.
  double bytes = 0, hbm_bytes = 0;
  double scheduled = 0;  // scheduled cycles over all runs (pjrt/schedule.h)
};

// A collective of the program. Its time is not included in the cycles.
struct CollectiveBytes {
  std::string opcode;  // such as "all-reduce", without the suffix "-start"
  bool asynchronous = false;
  double bytes = 0;  // size of the results over all runs; reduce-scatter: of the inputs
  double runs = 1;
  std::vector<std::int64_t> group{};  // the first device group; empty: all devices
};

// Returns the bytes that each of the n devices of a group sends in a ring algorithm: (n-1)/n *
// c.bytes, twice that for an all-reduce, and c.bytes for a collective-permute. If c.group is empty,
// n is `devices`.
double sent_bytes(const CollectiveBytes& c, std::int64_t devices);
// Returns the mesh axes along which the devices of a group differ, such as "data" or "data+fsdp";
// empty for a single device.
std::string axes_of(const compiler::Mesh& mesh, std::span<const std::int64_t> group);

// The estimates for a whole program, per device.
struct StepCycles {
  double total = 0;
  double scheduled = 0, unread = 0;             // set by add_schedule()
  std::vector<InstructionCycles> instructions;  // instructions with cycles, longest first
  std::vector<CollectiveBytes> collectives;
};

// Collects the estimates from a compiled program. `total` is 0 if the compiler does not provide
// estimates.
StepCycles step_cycles(const HloModule& module);

// Converts cycles to seconds, at the clock rate at which the matrix units reach peak_flops().
// Returns 0 if the device kind is unknown.
double seconds_of(double cycles, std::string_view device_kind);

}  // namespace smelt::pjrt
