// Stages of a recipe. A stage is skipped if its settings, inputs and outputs have not changed since
// it last ran. Stages depend on each other through files: the outputs of a stage are inputs of
// later ones, whether a recipe or a separate command wrote them. Outputs that were deleted or
// damaged are regenerated.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt::pipeline {

// Returns files or folders. Called each time a stage is checked, because the newest checkpoint is
// known only then.
using StagePaths = std::function<std::vector<std::string>()>;

struct Stage {
  std::string name;
  Json settings;  // settings that the outputs depend on, by section
  // A folder stands for all files below it.
  StagePaths inputs, outputs;
  std::function<void()> make;
  // Inputs or outputs that earlier versions recorded; they are ignored.
  std::vector<std::string> formerly = {};
  bool is_shared = false;  // made by all processes of a multi-host run together
  Json defaults = {};      // default values, by section, for settings that an older record lacks
};

// Runs the stage and records its settings, inputs and outputs under <out>/.stages. If it is up to
// date, logs that and does not run it. Returns whether it ran. Files are compared by size and
// content; the content is read only if the modification time differs. Objects of a remote store are
// compared by size and time. Throws UsageError if an input is missing, unless
// outlives_its_inputs().
bool run_stage(const std::string& out, const Stage& stage);

// The two halves of run_stage(). begin_stage() logs that the stage starts and returns the record of
// its settings and inputs; nullopt if it is up to date. end_stage() adds the outputs and stores the
// record.
std::optional<Json> begin_stage(const std::string& out, const Stage& stage);
void end_stage(const std::string& out, const Stage& stage, Json made_from);

// Stores the record that run_stage() would store, but does not run the stage.
void note_stage(const std::string& out, const Stage& stage);

// Deletes the record of the stage, so that it will run again.
void forget_stage(const std::string& out, const std::string& name);

// Returns whether some of the stage's inputs are missing, but its outputs are complete.
bool outlives_its_inputs(const std::string& out, const Stage& stage);

// Returns how settings or inputs differ from the record of the stage: "data.dupe_factor was 5, is
// 2", "text: a.txt was 400000 bytes, is 400014 bytes". Inputs outside of the folder are compared by
// content and may have moved. Inputs in the folder are outputs of other stages and are not
// compared. Returns nullopt if nothing differs, if the stage has no record, or if
// outlives_its_inputs() is true.
std::optional<std::string> changed_since(const std::string& out, const Stage& stage);

// Returns whether the stage was recorded, its outputs exist, and its settings and inputs are
// unchanged.
bool is_finished(const std::string& out, const Stage& stage);

// Returns the first stage of a recipe's folder that has not finished, or "train" if all stages
// before training have. nullopt if no recipe has run in the folder.
std::optional<std::string> stage_before_training(const std::string& out);

// Checks that `out` is missing, empty, or the folder of a recipe. Throws UsageError otherwise.
void check_output_folder(const std::string& out);
// Creates the folder and records the names of the stages in it.
void claim_output_folder(const std::string& out, const std::vector<Stage>& stages);

}  // namespace smelt::pipeline
