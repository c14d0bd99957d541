// Cycle counts from libtpu's final schedule. They are closer to the real run time than its
// estimates: for a pass over data in VMEM it estimates about 220 bytes per cycle, several times the
// cycles that it then schedules.
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

// Sets `scheduled` of each instruction and of the program: the cycles of its kernel, or the time to
// move its bytes between HBM and the core if that is longer. Equal kernels are compiled once and
// share an estimate. An instruction without a schedule keeps its estimate and is counted in
// `unread`.
void add_schedule(StepCycles& cycles, const std::map<std::string, double>& kernels,
                  std::string_view device_kind);

}  // namespace smelt::pjrt
