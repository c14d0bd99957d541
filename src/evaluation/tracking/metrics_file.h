// metrics.jsonl in a run's folder (docs/reference/formats/metrics.md): the run's records, one JSON
// object per line, over all of its starts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "evaluation/tracking/goodput_timer.h"
#include "io/filesystem/growing_file.h"

namespace smelt::evaluation {

inline constexpr const char* kMetricsFile = "metrics.jsonl";
// A file in the same folder with a line for each checkpoint that was evaluated after training.
inline constexpr const char* kEvaluationsFile = "evaluations.jsonl";

using Record = OrderedJson;

// Returns the file's records in order. Skips an incomplete last line, which a killed run can leave,
// and other lines that are not JSON objects. Throws UsageError if there is no such file.
std::vector<Record> read_metrics(const std::string& path);

// The records of a run that remain valid if it resumes from `step`, and the time spent on the
// dropped ones. Records of kind "start" are always kept. Time of dropped steps counts as lost.
struct KeptRecords {
  std::vector<Record> records;
  SpentTimes spent;  // time of the dropped records
};
KeptRecords kept_records(std::vector<Record> records, std::int64_t step);

// Returns the seconds from the last record until `now`, or 0 if the run is finished.
double seconds_down(const std::vector<Record>& records, double now);

class MetricsFile {
 public:
  // Opens the file for a run that starts or resumes after `step` steps: removes the records of
  // later steps. `start` has the first record's fields other than kind, step, time and spent.
  MetricsFile(const std::string& folder, std::int64_t step, const Record& start);
  // Appends {"kind": …, "step": …, "time": …} and the fields. When add() returns, a file on disk
  // has the data; an object store gets it in the background.
  void add(std::string_view kind, std::int64_t step, const Record& fields,
           const SpentTimes& spent = {});
  // Rolls back to an earlier step: removes the records of later steps and adds a rewind record. If
  // writing fails and throws, the file is unchanged and records can still be added.
  void went_back(std::int64_t step, SpentTimes spent);
  const std::string& path() const { return file_->path(); }

 private:
  void begin(const std::string& path, const KeptRecords& kept, const Record& first);

  std::unique_ptr<io::GrowingFile> file_;
  bool cut_short_ = false;  // the last line is incomplete because the disk was full
};

// Adds the end record "done" to the metrics of a finished run if it is missing, which happens if
// the run is killed right before writing it. `step` is the run's last step, `total` its planned
// number of steps. Does nothing if the folder has no metrics, or those of a run with another number
// of steps.
void record_end(const std::string& folder, std::int64_t step, std::int64_t total);

// Returns the seconds since 1970.
double wall_seconds();

}  // namespace smelt::evaluation
