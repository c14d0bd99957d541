#include "evaluation/tracking/metrics_file.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::evaluation {
namespace {

std::string line_of(const Record& record) {
  return record.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n";
}

Record stamped(std::string_view kind, std::int64_t step, double time, const Record& fields,
               const SpentTimes& spent) {
  Record out{{"kind", kind}, {"step", step}, {"time", time}};
  if (fields.is_object()) out.update(fields);
  if (spent.total() > 0) out["spent"] = to_json(spent);
  return out;
}

std::int64_t step_of_record(const Record& record) { return record.value("step", std::int64_t{0}); }

// Returns the share of a record's steps that is after `step`. `before` is the step of the previous
// record.
double share_beyond(const Record& record, std::int64_t before, std::int64_t step) {
  const std::int64_t end = step_of_record(record), begin = std::min(before, end);
  if (end <= step || end == begin) return end > step ? 1 : 0;
  return static_cast<double>(end - std::max(begin, step)) / static_cast<double>(end - begin);
}

bool is_done(const Record& record) {
  return record.value("kind", "") == "end" && record.value("why", "") == "done";
}

}  // namespace

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<Record> read_metrics(const std::string& path) {
  const std::string text = io::read_file(path);
  std::vector<Record> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    Record record = Record::parse_or_discard(line);
    if (record.is_object()) out.push_back(std::move(record));
  }
  return out;
}

double seconds_down(const std::vector<Record>& records, double now) {
  if (records.empty() || is_done(records.back())) return 0;
  return std::max(0.0, now - records.back().value("time", now));
}

KeptRecords kept_records(std::vector<Record> records, std::int64_t step) {
  KeptRecords out;
  std::int64_t before = 0;
  for (Record& record : records) {
    const std::int64_t own_step = step_of_record(record);
    if (own_step <= step || record.value("kind", "") == "start") {
      out.records.push_back(std::move(record));
    } else if (record.contains("spent")) {
      SpentTimes spent = spent_times(record["spent"]);
      const double lost = spent[GoodputBucket::step] * share_beyond(record, before, step);
      spent[GoodputBucket::step] -= lost;
      spent[GoodputBucket::lost] += lost;
      out.spent += spent;
    }
    before = own_step;
  }
  return out;
}

void record_end(const std::string& folder, std::int64_t step, std::int64_t total) {
  const std::string path = io::join_path(folder, kMetricsFile);
  if (!io::exists(path)) return;
  const auto records = read_metrics(path);
  const auto start = std::ranges::find(records.rbegin(), records.rend(), "start",
                                       [](const Record& r) { return r.value("kind", ""); });
  if (records.empty() || is_done(records.back()) || start == records.rend() ||
      start->value("of", std::int64_t{-1}) != total)
    return;
  const double now = wall_seconds();
  SpentTimes spent;
  spent[GoodputBucket::down] = seconds_down(records, now);
  std::string text;
  for (const Record& record : records) text += line_of(record);
  io::write_file(path, text + line_of(stamped("end", step, now, {{"why", "done"}}, spent)));
}

MetricsFile::MetricsFile(const std::string& folder, std::int64_t step, const Record& start) {
  const std::string path = io::join_path(folder, kMetricsFile);
  const double now = wall_seconds();
  KeptRecords kept;
  if (io::exists(path)) {
    const auto records = read_metrics(path);
    kept = kept_records(records, step);
    kept.spent[GoodputBucket::down] += seconds_down(records, now);
  }
  begin(path, kept, stamped("start", step, now, start, kept.spent));
}

void MetricsFile::begin(const std::string& path, const KeptRecords& kept, const Record& first) {
  std::string text;
  for (const Record& record : kept.records) text += line_of(record);
  auto file = std::make_unique<io::GrowingFile>(path, text + line_of(first));
  file_ = std::move(file);
  file_->write_objects_every(30);
  cut_short_ = false;
}

void MetricsFile::went_back(std::int64_t step, SpentTimes spent) {
  const std::string path = file_->path();
  file_->flush();
  const KeptRecords kept = kept_records(read_metrics(path), step);
  spent[GoodputBucket::lost] += std::exchange(spent[GoodputBucket::step], 0);
  spent += kept.spent;
  begin(path, kept, stamped("rewind", step, wall_seconds(), Record::object(), spent));
}

void MetricsFile::add(std::string_view kind, std::int64_t step, const Record& fields,
                      const SpentTimes& spent) {
  const std::string line = line_of(stamped(kind, step, wall_seconds(), fields, spent));
  const bool is_after_partial_line = std::exchange(cut_short_, true);
  file_->add(is_after_partial_line ? "\n" + line : line);
  cut_short_ = false;
}

}  // namespace smelt::evaluation
