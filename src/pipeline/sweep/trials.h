// Trials: several runs of one recipe that differ in seed and in some settings, and a comparison of
// their results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/resample.h"

namespace smelt::pipeline {

struct TrialsJob {
  std::string recipe;                 // file or run folder, see load_recipe()
  std::vector<std::string> settings;  // settings of all runs
  std::int64_t seeds =
      3;  // runs per combination of settings, with train.seed and the seeds after it
  // Settings to vary, "train.optimizer.learning_rate=1e-5,3e-5": one trial for each combination of
  // values.
  std::vector<std::string> grid;
  // Settings of the control runs to compare each trial with, such as "train.init_from=". Empty: no
  // comparison.
  std::vector<std::string> against;
  // Whether the control runs start from random weights instead of train.init_from.
  bool against_fresh = false;
  // Name of the metric (evaluation/metrics/named.h); empty: the default of the type of model.
  std::string metric = {};
  evaluation::ResampleOptions resample;
};

// Results of the runs with one combination of settings, which differ only in their seeds.
struct Trial {
  std::string name;                   // "learning_rate=1e-5"; empty if there is only one trial
  std::vector<std::string> settings;  // settings of this trial
  std::vector<std::string> folders;   // one folder for each run
  std::vector<double> scores;         // one score for each seed
  // Mean over the seeds; its interval comes from resampling the examples.
  evaluation::Interval mean;
  double spread = 0;  // standard deviation over the seeds; 0 for one seed
};

struct TrialsSummary {
  std::string metric;
  std::vector<Trial> trials;                    // in the order of the grid
  std::vector<Trial> against;                   // control runs of each trial; may be empty
  std::vector<evaluation::PairedTest> margins;  // difference of each trial from its control
  // Whether a lower metric is better, so that margins below 0 are improvements.
  bool lower_is_better = false;
  std::optional<std::size_t> best;  // index in `trials`; nullopt if no mean is a number
  std::size_t examples = 0;
};

// Runs all trials one after another, each in a folder below the recipe's `out`. Finished runs are
// skipped and interrupted ones resume. Throws UsageError before anything runs if the type of model
// predicts nothing for single examples, the metric is unknown or does not apply, or settings are
// invalid; also if a folder contains a run with other settings or weights.
TrialsSummary run_trials(const TrialsJob& job);

// Returns the index of the trial with the best mean, ignoring means that are not numbers.
std::optional<std::size_t> best_trial(const TrialsSummary& summary);
// Returns the folder of the best run of the best trial; nullopt if there is no best trial.
std::optional<std::string> best_folder(const TrialsSummary& summary);

// Returns the folders of all runs below a recipe's `out`; empty before the first trial.
std::vector<std::string> trial_folders(const std::string& out);

// Returns a table of the trials and of their improvements over the controls.
std::string trials_text(const TrialsSummary& summary);
OrderedJson trials_json(const TrialsSummary& summary);

}  // namespace smelt::pipeline
