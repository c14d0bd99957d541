// A TPU compiler's own estimate of how long a program takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/mesh.h"
#include "pjrt/compiled_module.h"

namespace smelt {

// `estimated_cycles` of libtpu, of an instruction of one device's program as often as it runs.
struct InstructionCycles {
  std::string name, op_name, opcode;
  double cycles = 0;  // of all its turns
  double turns = 1;   // how often the loops that it stands in run it
  // Of operands and results, of all turns: of a stack that its loop goes through one turn's part;
  // of these what lies in HBM.
  double bytes = 0, hbm_bytes = 0;
  double scheduled = 0;  // cycles of all turns (pjrt/schedule.h)
};

// What devices tell one another, as often as it runs. Its time is not in the cycles.
struct CollectiveBytes {
  std::string opcode;  // "all-reduce", …; of one whose work goes on meanwhile without "-start"
  bool asynchronous = false;
  double bytes = 0;  // of the results, of a reduce-scatter before it is cut; of all turns
  double turns = 1;
  std::vector<std::int64_t> group{};  // the first of its groups; empty: all devices
};

// What each of so many devices sends of a collective's bytes, around a ring: all of it but its own
// part, of an all-reduce twice.
double sent_bytes(const CollectiveBytes& c, std::int64_t devices);
// The axes of a mesh along which a group lies, "data" or "data+fsdp"; "" of one device.
std::string axes_of(const Mesh& mesh, std::span<const std::int64_t> group);

struct StepCycles {
  double total = 0;
  double scheduled = 0, unread = 0;             // pjrt/schedule.h
  std::vector<InstructionCycles> instructions;  // those with cycles, the longest first
  std::vector<CollectiveBytes> collectives;
};

// total is 0 of a compiler that estimates none.
StepCycles step_cycles(const HloModule& module);

// Operations of a cycle that a TPU device's matrix units do, by PJRT's kind; 0 for a kind that is
// not known.
double cycle_flops(std::string_view device_kind);
// At the clock at which these make up peak_flops(); 0 for a kind that is not known.
double seconds_of(double cycles, std::string_view device_kind);

}  // namespace smelt
