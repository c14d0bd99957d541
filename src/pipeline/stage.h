// Stages of a recipe that are not run again while their settings, inputs and outputs are as they
// were. One depends on another by its files: what a stage writes anew, under a recipe or by a
// command of its own, is an input of those behind it, and whatever was deleted or damaged is made
// again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace smelt {

// Files or folders, asked for whenever a stage is judged: which checkpoint is the newest is known
// only then.
using StagePaths = std::function<std::vector<std::string>()>;

struct Stage {
  std::string name;
  Json settings;               // what the outputs depend on besides the inputs, by section
  StagePaths inputs, outputs;  // of a folder all files below it count
  std::function<void()> make;
  // What an earlier version recorded among its inputs or outputs, and does not count.
  std::vector<std::string> formerly = {};
  bool is_shared = false;  // all processes that train together make it
  Json defaults = {};      // by section: the values of settings that a record of the stage lacks
};

// Runs the stage and records under <out>/.stages what it was made from and what it made, or says
// that it is finished. Returns whether it ran. Files count by size and content, which is read where
// the time of the last change differs; objects of a store by size and time. UsageError for an input
// that is not there, unless outlives_its_inputs().
bool run_stage(const std::string& out, const Stage& stage);

// run_stage() in parts: says that the stage begins, or is finished (nullopt), and gives what it is
// to be made from; and, once it is made, records that.
std::optional<Json> begin_stage(const std::string& out, const Stage& stage);
void end_stage(const std::string& out, const Stage& stage, Json made_from);

// Records the stage as run_stage() does, without running it.
void note_stage(const std::string& out, const Stage& stage);

// The stage of this name will run again.
void forget_stage(const std::string& out, const std::string& name);

// Whether some of what the stage was made from is gone, but what it made is whole.
bool outlives_its_inputs(const std::string& out, const Stage& stage);

// What the stage was made from when it was recorded and is not now, if anything that both sides
// know differs: "data.dupe_factor was 5, is 2", "text: a.txt was 400000 bytes, is 400014 bytes".
// Inputs from elsewhere count by their content, wherever they lie now; those of the folder are made
// again by their stages. nullopt where outlives_its_inputs().
std::optional<std::string> changed_since(const std::string& out, const Stage& stage);

// Whether the stage was recorded, what it made is there, and what it was made from is the same.
bool is_finished(const std::string& out, const Stage& stage);

// Of a recipe's folder in which training has not begun: the stage that is, or was, under way.
// nullopt where no recipe has made anything.
std::optional<std::string> stage_before_training(const std::string& out);

// The folder of a recipe: empty, new, or one that a recipe made. UsageError when it holds something
// else.
void check_output_folder(const std::string& out);
// Makes it and notes the stages' names in it.
void claim_output_folder(const std::string& out, const std::vector<Stage>& stages);

}  // namespace smelt
