// Cycle counts from libtpu's final schedule. They are closer to the real run time than libtpu's
// estimates. For a pass over data in VMEM, for example, the estimate assumes about 220 bytes per
// cycle, which gives several times as many cycles as the schedule.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pjrt/step_cycles.h"

namespace smelt::pjrt {

// Returns the cycles of a kernel from its final instruction bundles, as dumped by libtpu in text
// form: one cycle per bundle, times the iterations of its loops. If the busiest matrix unit needs
// more cycles, returns those: each matmul instruction takes 8 rows of f32 or 16 rows of bf16.
double scheduled_cycles(std::string_view bundles);

// Makes libtpu write its schedules into a temporary folder, which is deleted by the destructor.
// Must be created before libtpu is loaded.
class ScheduleDump {
 public:
  ScheduleDump();  // throws SystemError if it cannot create a temporary folder
  ~ScheduleDump();
  ScheduleDump(const ScheduleDump&) = delete;
  ScheduleDump& operator=(const ScheduleDump&) = delete;

  // Returns the cycles of the kernels of all programs compiled so far, by instruction name.
  std::map<std::string, double> kernels() const;

 private:
  std::string folder_;
};

// Sets InstructionCycles::scheduled of each instruction, and StepCycles::scheduled to their sum. An
// instruction takes the scheduled cycles of its kernel, or the cycles to move its bytes between HBM
// and the core if that is more. libtpu compiles equal kernels only once, so an instruction without
// a kernel takes the schedule of an instruction with the same estimate. If there is none,
// `scheduled` is the estimate itself, which is also added to StepCycles::unread. Sorts the
// instructions by `scheduled`, largest first.
void add_schedule(StepCycles& cycles, const std::map<std::string, double>& kernels,
                  std::string_view device_kind);

}  // namespace smelt::pjrt
