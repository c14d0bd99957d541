// The status of a run, from its records and the lock of its folder.
#pragma once

#include <optional>
#include <string>

#include "evaluation/tracking/run_record.h"

namespace smelt::evaluation {

// Returns "done", "stopped by a signal" or "failed: …" for a run that has ended; otherwise its
// current phase, even if its process no longer runs.
std::string state_text(const RunRecord& run);

// Returns whether the length of the run is a time, so that it has no number of steps.
bool is_timed(const RunRecord& run);
// Returns "1021 of 5000", or "1021" for such a run.
std::string step_text(const RunRecord& run);

struct RunStatus {
  RunRecord run;
  // "process 123 on host a"; set while a process trains in the folder
  std::optional<std::string> worker;
  double now = 0;  // seconds since 1970
};
// Reads the status of a run. Throws UsageError in the same cases as read_run().
RunStatus status_of_run(const std::string& run);

// Returns lines of "name  value".
std::string status_text(const RunStatus& status);
Record status_json(const RunStatus& status);

}  // namespace smelt::evaluation
