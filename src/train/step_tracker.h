// Where a run stands between two calls to its devices: the state machine of train/trainer.h.
#pragma once

#include <cstdint>

namespace smelt {

enum class RunState {
  unchecked,  // begins with a state whose check a signal cut off
  settled,    // every step that was started has ended, and its report is read
  under_way,  // the newest step is started, its report not read
  spiked,     // a report was of a spike: nothing but to go back
  cut,        // a signal cut off the check: nothing but to save the state, marked, and to end
};

// Transitions that the diagram does not have are bugs.
class StepTracker {
 public:
  StepTracker(std::int64_t step, bool unchecked)
      : step_(step), state_(unchecked ? RunState::unchecked : RunState::settled) {}

  RunState state() const { return state_; }
  // The newest step that was started, which the state on the devices is of or will be.
  std::int64_t step() const { return step_; }
  // Whether the report of step() is still to be read.
  bool report_is_due() const { return report_is_due_; }
  // In `spiked`: the newest step whose report said so.
  std::int64_t spike() const;

  // The step after step(), once the report of step() is read.
  void started();
  // The report of step() is read.
  void reported(bool spike);
  void checked();
  void check_cut();
  // Back at a step before the spike.
  void went_back(std::int64_t step);

 private:
  std::int64_t step_, spike_ = 0;
  RunState state_;
  bool report_is_due_ = false;
};

}  // namespace smelt
