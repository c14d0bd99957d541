// A TPU compiler's own estimate of how long a program takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/compiled_module.h"

namespace smelt {

// `estimated_cycles` of libtpu, of an instruction of one device's program as often as it runs.
struct InstructionCycles {
  std::string name, op_name, opcode;
  double cycles = 0;  // of all its turns
  double turns = 1;   // how often the loops that it stands in run it
  double bytes = 0;   // of operands and results, of all turns
};

// What devices tell one another, as often as it runs. Its time is not in the cycles.
struct CollectiveBytes {
  std::string opcode;  // "all-reduce", …; of one whose work goes on meanwhile without "-start"
  bool asynchronous = false;
  double bytes = 0;  // of the results, of all turns
  double turns = 1;
};

struct StepCycles {
  double total = 0;
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
