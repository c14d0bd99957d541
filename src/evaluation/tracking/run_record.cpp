#include "evaluation/tracking/run_record.h"

#include <algorithm>

#include "base/error.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::evaluation {
namespace {

void add_point(std::map<std::string, Curve>& curves, const std::string& name, std::int64_t step,
               const Record& value) {
  if (value.is_number()) curves[name].push_back({step, value.get<double>()});
}

void add_points(std::map<std::string, Curve>& curves, std::int64_t step, const Record& figures) {
  if (!figures.is_object()) return;
  for (const auto& [name, value] : figures.items())
    if (name != "step" && name != "time") add_point(curves, name, step, value);
}

void take_record(RunRecord& run, const Record& record) {
  const auto kind = record.value("kind", std::string());
  const auto step = record.value("step", std::int64_t{0});
  run.step = step;
  run.time = record.value("time", run.time);
  run.last_kind = kind;
  run.end.reset();
  if (record.contains("spent")) run.spent += spent_times(record["spent"]);
  if (kind == "start") {
    run.start = record;
    ++run.starts;
    run.of = record.value("of", std::int64_t{0});
  } else if (kind == "line") {
    run.line = record;
    add_points(run.lines, step, record);
  } else if (kind == "check") {
    add_points(run.train, step, record.value("train", Record()));
    add_points(run.valid, step, record.value("valid", Record()));
  } else if (kind == "save") {
    run.saved = step;
  } else if (kind == "filled") {
    run.filled.push_back(record);
  } else if (kind == "end") {
    run.end = record;
  }
}

void flatten_settings(const std::string& prefix, const Json& value,
                      std::map<std::string, Json>& out) {
  if (!value.is_object()) {
    out[prefix] = value;
    return;
  }
  for (const auto& [name, inner] : value.items())
    flatten_settings(prefix.empty() || name.empty() ? prefix + name : str(prefix, ".", name), inner,
                     out);
}

std::vector<std::string> path_parts(const std::string& path) {
  std::vector<std::string> out;
  for (const std::string_view part : split(path, '/'))
    if (!part.empty() && part != ".") out.emplace_back(part);
  if (out.size() > 1 && out.back() == "model") out.pop_back();
  return out;
}

// Returns all endings of a path, shortest first: "c", "b/c", "a/b/c" for "a/b/c".
std::vector<std::string> last_parts(const std::string& path) {
  const auto parts = path_parts(path);
  std::vector<std::string> out;
  for (auto from = parts.end(); from != parts.begin();)
    out.push_back(join(std::vector(--from, parts.end()), "/"));
  return out;
}

}  // namespace

std::string run_folder(const std::string& run) {
  for (const std::string& folder : {run, io::join_path(run, "model")})
    if (io::exists(io::join_path(folder, kMetricsFile))) return folder;
  if (!io::is_remote(run) && !io::exists(run))
    throw UsageError(
        str(run, ": this folder does not exist"),
        "pass the `out` folder of a recipe whose training has started, or its model folder");
  throw UsageError(
      str(run, ": no ", kMetricsFile, " in it or in its model/"),
      "pass the `out` folder of a recipe whose training has started, or its model folder");
}

RunRecord read_run(const std::string& run) {
  RunRecord out;
  out.folder = run_folder(run);
  for (const Record& record : read_metrics(io::join_path(out.folder, kMetricsFile)))
    take_record(out, record);
  if (out.starts == 0)
    throw UsageError(str(io::join_path(out.folder, kMetricsFile), ": contains no start record"),
                     "the file is damaged; resume the run, which adds a start record");
  const auto parts = path_parts(out.folder);
  out.name = parts.empty() ? out.folder : parts.back();
  if (const std::string path = io::join_path(out.folder, kEvaluationsFile); io::exists(path))
    out.evaluations = read_metrics(path);
  std::ranges::stable_sort(out.evaluations, {},
                           [](const Record& e) { return e.value("global_step", std::int64_t{0}); });
  return out;
}

std::vector<RunRecord> read_runs(const std::vector<std::string>& runs) {
  std::vector<RunRecord> out;
  std::map<std::string, int> named;  // for each ending of a path: number of runs that have it
  for (const std::string& run : runs) {
    out.push_back(read_run(run));
    for (std::string& name : last_parts(out.back().folder)) ++named[std::move(name)];
  }
  for (RunRecord& run : out)
    for (std::string& name : last_parts(run.folder)) {
      run.name = std::move(name);
      if (named[run.name] == 1) break;
    }
  return out;
}

std::map<std::string, Json> flat_settings(const Record& start) {
  std::map<std::string, Json> out;
  if (start.contains("settings")) flatten_settings("", start["settings"], out);
  return out;
}

std::optional<double> final_value(const std::map<std::string, Curve>& curves,
                                  const std::string& name) {
  const auto found = curves.find(name);
  if (found == curves.end() || found->second.empty()) return std::nullopt;
  return found->second.back().value;
}

}  // namespace smelt::evaluation
