// smelt compress distill: a small model held to a large one, by the large one's own recipe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt {

struct DistillFlags {
  std::string teacher, student, out;
  std::vector<std::string> settings;  // of the recipe
  bool json = false;
};

// Before there is a student: UsageError where the teacher is no run's folder, for settings that
// are none, and, unless the run may go on, where `out` exists.
void check_distill(const DistillFlags& flags, bool may_go_on);
// Trains, and prints how good the student is. UsageError likewise, but for `out`, and where the
// teacher's model cannot teach.
void teach(const DistillFlags& flags);
// UsageError where a run's folder and that which is made of it, by `flag` and --out, are one or lie
// in each other.
void require_apart(const std::string& out, const char* flag, const std::string& run);
// Its exported weights held to the model itself, in a run's new or begun folder by the model's
// recipe: what `settings` say is learned with.
void teach_itself(const std::string& model, const std::string& run,
                  const std::vector<std::string>& settings);
// Trains, and prints what may come next. Returns the run's result (pipeline/run_result.h).
OrderedJson distill(const DistillFlags& flags);

void add_distill(CLI::App& compress);

}  // namespace smelt
