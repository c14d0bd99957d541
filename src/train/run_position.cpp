#include "train/run_position.h"

#include "base/error.h"

namespace smelt {

std::int64_t RunPosition::spike() const {
  CHECK(state_ == RunState::spiked);
  return spike_;
}

void RunPosition::started() {
  CHECK(!report_is_due_ && (state_ == RunState::settled || state_ == RunState::spiked));
  ++step_;
  report_is_due_ = true;
  if (state_ == RunState::settled) state_ = RunState::under_way;
}

void RunPosition::reported(bool spike) {
  CHECK(report_is_due_);
  report_is_due_ = false;
  if (state_ == RunState::under_way) state_ = RunState::settled;
  if (!spike) return;
  state_ = RunState::spiked;
  spike_ = step_;
}

void RunPosition::checked() {
  CHECK(state_ == RunState::settled || state_ == RunState::unchecked);
  state_ = RunState::settled;
}

void RunPosition::check_cut() {
  CHECK(state_ == RunState::settled || state_ == RunState::unchecked);
  state_ = RunState::cut;
}

void RunPosition::went_back(std::int64_t step) {
  CHECK(state_ == RunState::spiked && step < spike_);
  state_ = RunState::settled;
  report_is_due_ = false;
  step_ = step;
}

}  // namespace smelt
