#include "train/step_tracker.h"

#include "base/error.h"

namespace smelt::train {

std::int64_t StepTracker::spike() const {
  CHECK(state_ == RunState::spiked);
  return spike_;
}

void StepTracker::started() {
  CHECK(!report_is_due_ && (state_ == RunState::settled || state_ == RunState::spiked));
  ++step_;
  report_is_due_ = true;
  if (state_ == RunState::settled) state_ = RunState::under_way;
}

void StepTracker::reported(bool spike) {
  CHECK(report_is_due_);
  report_is_due_ = false;
  if (state_ == RunState::under_way) state_ = RunState::settled;
  if (!spike) return;
  state_ = RunState::spiked;
  spike_ = step_;
}

void StepTracker::checked() {
  CHECK(state_ == RunState::settled || state_ == RunState::unchecked);
  state_ = RunState::settled;
}

void StepTracker::check_cut() {
  CHECK(state_ == RunState::settled || state_ == RunState::unchecked);
  state_ = RunState::cut;
}

void StepTracker::went_back(std::int64_t step) {
  CHECK(state_ == RunState::spiked && step < spike_);
  state_ = RunState::settled;
  report_is_due_ = false;
  step_ = step;
}

}  // namespace smelt::train
