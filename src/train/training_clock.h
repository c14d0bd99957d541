// The clock of a run whose length is a time. Its learning rate follows the training time, so that
// the schedule ends with the time whatever the speed of the machine.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/clock.h"

namespace smelt::train {

// Field of a checkpoint's settings: the seconds that the run had trained at its step. Only runs
// whose length is a time have it.
inline constexpr const char* kTrainedSeconds = "trained_seconds";

// Number of schedule units in a second: the schedule of such a run counts milliseconds.
inline constexpr double kScheduleUnitsPerSecond = 1000;

// Measures training time, which includes evaluations and saves. A resumed run continues with the
// time of its checkpoint. The clock is read at some steps; between two readings, the time is a
// linear function of the step. All processes of a run use the readings of rank 0, so that they have
// the same learning rate and stop at the same step.
class TrainingClock {
 public:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

  // Makes the clock of a run of `total` seconds, which must be above 0.
  explicit TrainingClock(double total) : total_(total) {}

  // Starts the clock at `step`, at which the run has trained for `seconds`.
  void start(std::int64_t step, double seconds, Clock::time_point now = Clock::now());
  // Returns whether the clock must be read before the step after `step`. Also true after a rollback
  // to an earlier step.
  bool is_due(std::int64_t step) const { return step >= next_ || step < step_; }
  // Reads the clock at `step`. Returns the reading as text, for set() on all processes.
  std::string read(std::int64_t step, Clock::time_point now = Clock::now());
  void set(const std::string& reading);

  // Returns the training time in seconds after `step` steps, at most total().
  double seconds_at(std::int64_t step) const;
  // Returns the last step of the run, or kUnknown if it is after the next reading.
  std::int64_t last_step() const { return last_; }
  double total() const { return total_; }
  // Formats the training time after `step` steps as a share: "30.0 % of 24 hours".
  std::string progress_text(std::int64_t step) const;

 private:
  double total_;
  // The current reading: the step, the step of the next reading, the last step of the run, the
  // training time after step_ steps, and the seconds per step from there on.
  std::int64_t step_ = 0, next_ = 0, last_ = kUnknown;
  double seconds_ = 0, per_step_ = 0;
  // The start, and the previous reading of this process.
  Clock::time_point start_;
  double seconds_at_start_ = 0, seconds_read_ = 0;
  std::int64_t step_read_ = 0;
  double per_step_read_ = 0;  // seconds of a step before the previous reading; 0: unknown
};

// Formats the length of a run: "24 hours", "90 minutes", "45 seconds".
std::string hours_text(double seconds);

}  // namespace smelt::train
