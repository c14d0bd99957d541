// smelt compress distill: trains a small model to match a large one, with the large one's recipe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt::cli {

struct DistillFlags {
  std::string teacher, student, out;
  std::vector<std::string> settings;  // recipe fields to override
  bool json = false;
};

// Checks the flags before a student exists. Throws UsageError if the teacher is not a run folder,
// if a setting is invalid, or if `out` exists and `may_go_on` is false.
void check_distill(const DistillFlags& flags, bool may_go_on);
// Trains the student and prints its metrics. Throws UsageError if the teacher is not a run folder,
// a setting is invalid, or the teacher's model cannot be distilled.
void teach(const DistillFlags& flags);
// Throws UsageError if a run folder (given by `flag`) and the output folder (--out) are the same or
// one contains the other.
void require_apart(const std::string& out, const char* flag, const std::string& run);
// Trains a copy of a model to match the outputs of the model itself, for example while its weights
// are pruned. `model` is the run folder of the model: its recipe, with `settings`, and its exported
// weights are used. `run` is the folder of the new run. Resumes if that run exists.
void teach_itself(const std::string& model, const std::string& run,
                  const std::vector<std::string>& settings);
// Trains the student and prints suggested next steps. Returns the run's result
// (pipeline/stages/run_result.h).
OrderedJson distill(const DistillFlags& flags);

void add_distill(CLI::App& compress);

}  // namespace smelt::cli
