// Several runs of one recipe that differ by their seeds and by some settings, and how far apart
// they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/resample.h"

namespace smelt {

struct TrialsJob {
  std::string recipe;                 // as load_recipe() takes it
  std::vector<std::string> settings;  // of all runs
  std::int64_t seeds = 3;             // runs of each kind, by train.seed and those behind it
  // "train.optimizer.learning_rate=1e-5,3e-5": one kind of run for each value; of several fields
  // for each pair of values, and so on.
  std::vector<std::string> grid;
  // Settings of another kind of run that each is held against: "train.init_from=". Empty: none.
  std::vector<std::string> against;
  bool against_fresh = false;  // settings that begin with fresh weights instead of train.init_from
  std::string metric = {};     // evaluation/metrics/named.h; empty: as the type of model says
  ResampleOptions resample;
};

// Of the runs of one kind, by what they say of the same held-out examples.
struct Trial {
  std::string name;                   // "learning_rate=1e-5"; empty where there is one kind alone
  std::vector<std::string> settings;  // its own
  std::vector<std::string> folders;   // of its runs
  std::vector<double> scores;         // of each seed
  Interval mean;                      // over the seeds, by resampled examples
  double spread = 0;                  // standard deviation over the seeds; of one seed 0
};

struct TrialsSummary {
  std::string metric;
  std::vector<Trial> trials;        // by the grid, in its order
  std::vector<Trial> against;       // the same with the other settings; or empty
  std::vector<PairedTest> margins;  // of each trial over its other
  bool lower_is_better = false;     // of the metric, and so below 0 of the margins
  std::optional<std::size_t> best;  // of trials; none where no mean is a number
  std::size_t examples = 0;
};

// Runs what is not finished, each in a folder below the recipe's `out`, one after another. What was
// interrupted goes on when it is called again. UsageError for a recipe whose model predicts nothing
// of single examples, a metric that is unknown or does not fit, and settings that are refused,
// before anything runs; and for a folder that holds a run of other settings or other weights.
TrialsSummary run_trials(const TrialsJob& job);

// The trial of the best mean, never one that is no number.
std::optional<std::size_t> best_trial(const TrialsSummary& summary);
// Of its runs the one of the best score.
std::optional<std::string> best_folder(const TrialsSummary& summary);

// The folders of all runs below a recipe's `out`; none where no trials were run there.
std::vector<std::string> trial_folders(const std::string& out);

// A table of the kinds, and of what each gains.
std::string trials_text(const TrialsSummary& summary);
OrderedJson trials_json(const TrialsSummary& summary);

}  // namespace smelt
