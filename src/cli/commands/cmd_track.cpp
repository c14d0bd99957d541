#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/commands/commands.h"
#include "cli/options/json_output.h"
#include "cli/options/recipe_option.h"
#include "evaluation/tracking/compare.h"
#include "evaluation/tracking/page.h"
#include "evaluation/tracking/status.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/estimate/plan_text.h"
#include "pipeline/incremental/stage.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/sweep/trials.h"

namespace smelt::cli {
namespace {

struct TrackOptions {
  std::vector<std::string> runs, settings;
  std::string out, plan;
  bool json = false;
};

std::shared_ptr<TrackOptions> add_track_options(CLI::App& command, bool json) {
  auto options = std::make_shared<TrackOptions>();
  command
      .add_option("run", options->runs,
                  "the folder of a run or of a model, or a run's recipe (YAML)")
      ->required();
  add_set_option(command, options->settings);
  if (json) command.add_flag("--json", options->json, "print one JSON object instead of lines");
  return options;
}

std::string folder_of(const std::string& run, const TrackOptions& options) {
  const auto status = io::file_status(run);
  return status && !status->is_folder ? pipeline::load_recipe(run, options.settings).out : run;
}

bool has_begun(const std::string& run) {
  return io::exists(io::join_path(run, "model/metrics.jsonl"));
}

// Returns the folders of the run's trials that have begun to train. If `with_data` is set, also
// returns the trials that are still preparing data.
std::vector<std::string> begun_trials(const std::string& folder, bool with_data) {
  std::vector<std::string> out = pipeline::trial_folders(folder);
  std::erase_if(out, [&](const std::string& run) {
    return !has_begun(run) && !(with_data && pipeline::stage_before_training(run));
  });
  return out;
}

// Returns the run folders that were named, and those of their trials.
std::vector<std::string> run_folders(const TrackOptions& options, const char* command) {
  std::vector<std::string> out;
  bool of_recipe = false;
  for (const std::string& run : options.runs) {
    const std::string folder = folder_of(run, options);
    const auto trials = begun_trials(folder, std::string_view(command) == "status");
    if (trials.empty() || has_begun(folder)) out.push_back(folder);
    out.insert(out.end(), trials.begin(), trials.end());
    of_recipe = of_recipe || folder != run;
  }
  if (!options.settings.empty() && !of_recipe)
    throw UsageError(
        str(command, ": --set is only for recipes, but ", options.runs.front(), " is a run"),
        "remove it");
  return out;
}

// Prints the state of a run that has not logged anything yet. Returns false for any other run.
bool print_beginning(const TrackOptions& options, const std::string& run) {
  const auto stage = pipeline::stage_before_training(run);
  if (!stage || has_begun(run)) return false;
  const auto worker = io::folder_worker(run);
  const std::string state = str("has not begun to train yet (stage ", *stage, ")");
  evaluation::Record record{{"folder", run}, {"state", state}, {"alive", worker.has_value()}};
  if (worker) record["worker"] = *worker;
  if (options.json)
    std::cout << record.dump() << "\n";
  else
    std::cout << "run       " << run << "\nstate     " << state
              << (worker               ? str(", by ", *worker)
                  : io::is_remote(run) ? ""
                                       : "; no process works on it")
              << "\n";
  return true;
}

// Returns how to resume a run that is neither running nor finished, or "" if it has no recipe.
std::string how_to_go_on(const evaluation::RunStatus& status) {
  const auto run = pipeline::run_named_by(status.run.folder);
  // A run whose length is a time has no number of steps.
  const bool is_done = evaluation::is_timed(status.run)
                           ? status.run.end && status.run.end->value("why", std::string()) == "done"
                           : status.run.step >= status.run.of;
  if (status.worker || is_done || !run) return "";
  return str("resume    smelt run ", quoted(*run), "\n");
}

// Returns HTML with charts of the hours and costs in the file `plan`, which is the output of
// `smelt plan --json`; "" if `plan` is empty.
std::string planned_html(const std::string& plan) {
  if (plan.empty()) return "";
  return pipeline::plan_charts("report: --plan " + plan,
                               Json::parse_or_discard(io::read_file(plan, io::kSmallFileBytes)));
}

// Writes the page and returns its path.
std::string write_report(const TrackOptions& options) {
  const auto runs = run_folders(options, "report");
  if (options.out.empty() && options.runs.size() > 1)
    throw UsageError(str("report: a page about ", runs.size(), " runs needs a file name"),
                     "add a file name, such as --out runs.html");
  const std::string out =
      options.out.empty() ? io::join_path(folder_of(options.runs.front(), options), "report.html")
                          : options.out;
  evaluation::check_page_place("report", out);
  const std::string page =
      evaluation::runs_page(evaluation::read_runs(runs), planned_html(options.plan));
  const std::string folder = io::parent_path(out);
  const bool is_new = !folder.empty() && !io::is_remote(out) && !io::exists(folder);
  io::write_file(out, page);
  log_info("report: {}{}", out, is_new ? str(" (", folder, " is a new folder)") : "");
  return out;
}

}  // namespace

void add_status_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("status", "show the state of a run, its last metrics and time left");
  const auto options = add_track_options(*command, true);
  command->callback([options] {
    for (const std::string& run : run_folders(*options, "status")) {
      if (print_beginning(*options, run)) continue;
      const evaluation::RunStatus status = evaluation::status_of_run(run);
      std::cout << (options->json ? evaluation::status_json(status).dump() + "\n"
                                  : evaluation::status_text(status) + how_to_go_on(status));
    }
  });
}

void add_compare_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("compare", "compare runs: settings that differ, final metrics");
  const auto options = add_track_options(*command, true);
  command->callback([options] {
    const auto runs = evaluation::read_runs(run_folders(*options, "compare"));
    std::cout << (options->json ? evaluation::compare_json(runs).dump() + "\n"
                                : evaluation::compare_text(runs));
  });
}

void add_report_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "report", "write an HTML page about runs: curves, goodput, evaluations, settings");
  const auto options = add_track_options(*command, false);
  command->add_option("--out", options->out,
                      "the HTML file to write; default: report.html in the run's folder");
  command->add_option("--plan", options->plan,
                      "output of `smelt plan --json`; its hours and dollars are drawn as charts");
  add_json_flag(*command, options->json);
  command->callback([options] {
    print_result(options->json, [&] { return OrderedJson{{"path", write_report(*options)}}; });
  });
}

}  // namespace smelt::cli
