// metrics.jsonl in a run's folder, docs/reference/formats/metrics.md: what the run tells of itself,
// a JSON object a line, over all of its starts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "evaluation/tracking/goodput_timer.h"
#include "io/filesystem/growing_file.h"

namespace smelt {

inline constexpr const char* kMetricsFile = "metrics.jsonl";
// Beside it: a line for each checkpoint that was evaluated by itself.
inline constexpr const char* kEvaluationsFile = "evaluations.jsonl";

using Record = OrderedJson;

// The file's records in their order. A last line that a kill has cut short is left out, as are
// lines that hold no JSON object. UsageError when there is no such file.
std::vector<Record> read_metrics(const std::string& path);

// What is left of a run's records once it goes on from `step`, its starts among them, and what the
// rest comes to: its steps are lost.
struct KeptRecords {
  std::vector<Record> records;
  SpentTimes spent;  // of those that are not kept
};
KeptRecords kept_records(std::vector<Record> records, std::int64_t step);

// Seconds until `now` that nobody worked on the run of these records.
double seconds_down(const std::vector<Record>& records, double now);

class MetricsFile {
 public:
  // A run that begins, or goes on, after `step` steps: what was said of later ones is taken back.
  // `start` is the first record's fields beyond its kind, step, time and spent.
  MetricsFile(const std::string& folder, std::int64_t step, const Record& start);
  // {"kind": …, "step": …, "time": …} and the fields; on its way to the reader when this returns.
  void add(std::string_view kind, std::int64_t step, const Record& fields,
           const SpentTimes& spent = {});
  // The run goes back to an earlier step: as for one that begins there, without another start.
  // Where that cannot be written the file stays as it is, to be added to.
  void went_back(std::int64_t step, SpentTimes spent);
  const std::string& path() const { return file_->path(); }

 private:
  void begin(const std::string& path, const KeptRecords& kept, const Record& first);

  std::unique_ptr<GrowingFile> file_;
  bool cut_short_ = false;  // its last line, by a full disk
};

// Adds the record of its end, "done", to the metrics of a run that made all of its `total` steps,
// or ended early, at `step`, unless it is there: a kill may have come right before it. Does nothing
// if the folder has no metrics or they are of a run of another number of steps.
void record_end(const std::string& folder, std::int64_t step, std::int64_t total);

// Seconds since 1970.
double wall_seconds();

}  // namespace smelt
