// What libtpu has scheduled, which is nearer to the time that a program takes than the cycles that
// it estimates: of a pass over numbers that lie in VMEM it estimates bytes over some 220 a cycle,
// several times what it then schedules.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pjrt/step_cycles.h"

namespace smelt {

// Cycles of a kernel by its final bundles of instructions, as libtpu dumps them as text: a bundle
// takes one, those of a loop as often as it turns; or what the busiest matrix unit takes, if that
// is more: 8 rows of f32 or 16 of bf16 for each product that a bundle starts.
double scheduled_cycles(std::string_view bundles);

// Makes libtpu, which must not be loaded yet, write what it schedules into a folder that goes away
// with this.
class ScheduleDump {
 public:
  ScheduleDump();  // SystemError where there is no place for temporary files
  ~ScheduleDump();
  ScheduleDump(const ScheduleDump&) = delete;
  ScheduleDump& operator=(const ScheduleDump&) = delete;

  // Cycles of the kernels of all programs compiled since, by the names of their instructions.
  std::map<std::string, double> kernels() const;

 private:
  std::string folder_;
};

// Adds each instruction's `scheduled`, and their total: what its kernel takes or what it moves
// between HBM and the core at the device's bandwidth, if that is more. Kernels that are the same
// are compiled once: they have the same estimate. One without a schedule takes its estimate, and is
// counted in `unread`.
void add_schedule(StepCycles& cycles, const std::map<std::string, double>& kernels,
                  std::string_view device_kind);

}  // namespace smelt
