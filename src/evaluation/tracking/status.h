// How a run stands, by what it has said and whether somebody still works in its folder.
#pragma once

#include <optional>
#include <string>

#include "evaluation/tracking/run_record.h"

namespace smelt {

// "done", "stopped by a signal", "failed: …"; of a run that has not ended: what it does, whether or
// not it is alive.
std::string state_text(const RunRecord& run);

struct RunStatus {
  RunRecord run;
  std::optional<std::string> worker;  // "process 123 on host a", while one trains there
  double now = 0;                     // seconds since 1970
};
// UsageError as of read_run().
RunStatus status_of_run(const std::string& run);

// Lines of "name  value".
std::string status_text(const RunStatus& status);
Record status_json(const RunStatus& status);

}  // namespace smelt
