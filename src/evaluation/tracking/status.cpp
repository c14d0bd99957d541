#include "evaluation/tracking/status.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "base/number_format.h"
#include "base/progress.h"
#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "io/filesystem/folder_lock.h"

namespace smelt::evaluation {
namespace {

bool is_compiling(const RunRecord& run) { return run.last_kind == "start"; }

std::string state_word(const RunStatus& status) {
  const RunRecord& run = status.run;
  if (run.end) return state_text(run);
  const std::string since =
      is_compiling(run) ? str(" for ", duration_text(status.now - run.time)) : "";
  return status.worker
             ? str(state_text(run), since, ", by ", *status.worker)
             : str("not running: its process ended without an end record while ", state_text(run));
}

// Returns the estimated seconds left, minus the time since the estimate was logged.
std::optional<double> seconds_left(const RunStatus& status) {
  if (status.run.end || !status.run.line || !status.worker) return std::nullopt;
  const Record left = status.run.line->value("seconds_left", Record());
  if (!left.is_number()) return std::nullopt;
  return std::max(0.0, left.get<double>() - (status.now - status.run.line->value("time", 0.0)));
}

std::string goodput_text(const SpentTimes& spent) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kSpentKinds; ++i)
    if (const double share = 100 * spent.share(static_cast<GoodputBucket>(i)); share >= 0.05)
      out.push_back(str(rounded(share, 1), " % ", spent_label(static_cast<GoodputBucket>(i))));
  return join(out, ", ");
}

std::string line_words(const Record& line) {
  std::vector<std::string> out;
  for (const auto& [name, value] : line.items())
    if (value.is_number() && name != "step" && name != "time" && name != "seconds_left")
      out.push_back(str(name, " ", number_text(value.get<double>())));
  return join(out, ", ");
}

}  // namespace

std::string state_text(const RunRecord& run) {
  if (run.end) {
    auto why = run.end->value("why", std::string());
    if (why == "stopped") return "stopped by a signal";
    if (why == "failed")
      return str("failed: ", first_line(run.end->value("message", std::string())));
    return why;
  }
  return is_compiling(run) ? "compiling" : "training";
}

bool is_timed(const RunRecord& run) { return run.start.contains("of_seconds"); }

std::string step_text(const RunRecord& run) {
  return is_timed(run) ? str(run.step) : str(run.step, " of ", run.of);
}

RunStatus status_of_run(const std::string& run) {
  RunStatus out{.run = read_run(run), .worker = {}, .now = wall_seconds()};
  out.worker = io::folder_worker(out.run.folder);
  return out;
}

std::string status_text(const RunStatus& status) {
  const RunRecord& run = status.run;
  std::ostringstream out;
  const auto put = [&](std::string_view name, const std::string& value) {
    out << std::left << std::setw(10) << name << value << "\n";
  };
  const double share =
      run.of > 0 ? 100 * static_cast<double>(run.step) / static_cast<double>(run.of) : 100;
  put("run", run.folder);
  put("state", state_word(status));
  put("step", str(step_text(run), is_timed(run) ? "" : str(" (", rounded(share, 1), " %)")));
  if (run.line)
    put("line", str("step ", run.line->value("step", std::int64_t{0}), ", ",
                    duration_text(status.now - run.line->value("time", status.now)),
                    " ago: ", line_words(*run.line)));
  if (const auto left = seconds_left(status)) put("left", duration_text(*left));
  put("saved", run.saved ? str("step ", *run.saved) : "no checkpoint in its records");
  put("time", str(duration_text(run.spent.total()), ": ", goodput_text(run.spent)));
  put("starts", str(run.starts));
  return out.str();
}

Record status_json(const RunStatus& status) {
  const RunRecord& run = status.run;
  Record out{{"folder", run.folder}, {"state", state_text(run)},
             {"step", run.step},     {"of", is_timed(run) ? Record() : Record(run.of)},
             {"time", run.time},     {"now", status.now},
             {"starts", run.starts}, {"alive", status.worker.has_value()}};
  if (is_timed(run)) out["of_seconds"] = run.start["of_seconds"];
  if (status.worker) out["worker"] = *status.worker;
  if (run.line) out["line"] = *run.line;
  if (const auto left = seconds_left(status)) out["seconds_left"] = *left;
  if (run.saved) out["saved"] = *run.saved;
  out["spent"] = to_json(run.spent);
  out["goodput"] = run.spent.share(GoodputBucket::step);
  return out;
}

}  // namespace smelt::evaluation
