// The state machine of a training run (see train/trainer.h).
#pragma once

#include <cstdint>

namespace smelt::train {

enum class RunState {
  unchecked,  // starts with a state whose evaluation was interrupted by a signal
  settled,    // every started step has ended, and its report was read
  under_way,  // the latest step is running, its report was not read
  spiked,     // a report contained a loss spike: only a rollback is possible
  cut,        // a signal interrupted the evaluation: the state is saved as unchecked, the run ends
};

// Tracks the steps of a run. A transition that is not in the diagram is a bug.
class StepTracker {
 public:
  StepTracker(std::int64_t step, bool unchecked)
      : step_(step), state_(unchecked ? RunState::unchecked : RunState::settled) {}

  RunState state() const { return state_; }
  // Returns the latest started step. Once it has ended, the devices have the state after it.
  std::int64_t step() const { return step_; }
  // Returns whether the report of step() was not read yet.
  bool report_is_due() const { return report_is_due_; }
  // Returns the latest step with a spike; only in the state `spiked`.
  std::int64_t spike() const;

  // Records the start of the next step; the report of step() must have been read.
  void started();
  // Records that the report of step() was read.
  void reported(bool spike);
  void checked();
  void check_cut();
  // Records a rollback to a step before the spike.
  void went_back(std::int64_t step);

 private:
  std::int64_t step_, spike_ = 0;
  RunState state_;
  bool report_is_due_ = false;
};

}  // namespace smelt::train
