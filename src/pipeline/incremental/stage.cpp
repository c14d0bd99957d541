#include "pipeline/incremental/stage.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/events.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/stop_notice.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/crc32c.h"
#include "io/formats/json_difference.h"
#include "io/hub/hub_files.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kNames = "names";  // file name of the list of stages

std::string stages_folder(const std::string& out) { return io::join_path(out, ".stages"); }

std::string record_path(const std::string& out, const std::string& name) {
  return io::join_path(stages_folder(out), name + ".json");
}

// Returns the name of a file in a record: relative to the recipe's folder if it is in there, so
// that the folder can be moved, otherwise absolute, so that the working directory does not matter.
// A file on the Hugging Face Hub is named without its revision: its checksum identifies it.
std::string name_in(const std::string& out, const std::string& path) {
  const std::string folder = io::join_path(out, "");
  if (path.starts_with(folder)) return path.substr(folder.size());
  if (io::is_hub_path(path)) return io::parse_hub_path(path).at_revision("").text();
  return io::is_remote(path) ? path : io::canonical_path(path);
}

// Converts a recorded name to the form of name_in(). Older records have paths as the user gave
// them.
std::string recorded_name(const std::string& out, const std::string& name) {
  const std::string folder = io::join_path(out, "");
  if (name.starts_with(folder)) return name.substr(folder.size());
  const bool given =
      !io::is_remote(name) && io::exists(name) && !io::exists(io::join_path(out, name));
  return given ? io::canonical_path(name) : name;
}

// Appends [name, size, modification time] for each file. A checksum is added later if needed, but
// at once for a file on the Hugging Face Hub. A folder stands for all files in it.
void add_states(const std::string& out, const std::vector<std::string>& paths, Json& states) {
  for (const std::string& path : paths) {
    const auto status = io::file_status(path);
    if (!status) continue;
    if (!status->is_folder) {
      Json state{name_in(out, path), status->size, status->modified};
      if (const std::string hex = io::is_hub_path(path) ? io::hub_checksum(path) : ""; !hex.empty())
        state.push_back(hex);
      states.push_back(state);
      continue;
    }
    std::vector<std::string> below;
    for (const std::string& name : io::list_folder(path))
      below.push_back(io::join_path(path, name));
    add_states(out, below, states);
  }
}

Json states_of(const std::string& out, const std::vector<std::string>& paths) {
  Json states = Json::array();
  add_states(out, paths, states);
  return states;
}

// Returns the CRC32C of a local file, or null for a remote object (reading it would cost time and
// money).
Json checksum(const std::string& path) {
  if (io::is_remote(path)) return nullptr;
  const io::RandomAccessFile file(path);
  std::vector<char> block(std::size_t{1} << 20);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < file.size(); at += block.size()) {
    const auto count = std::min<std::uint64_t>(block.size(), file.size() - at);
    file.read_at(at, {block.data(), count});
    crc = io::crc32c({block.data(), count}, crc);
  }
  return io::hex_text(crc);
}

std::string path_of_name(const std::string& out, const std::string& name) {
  return io::is_remote(name) || name.starts_with('/') ? name : io::join_path(out, name);
}

bool same_file(const Json& a, const Json& b) {
  return a.at(0) == b.at(0) && a.at(1) == b.at(1) && a.at(2) == b.at(2);
}

// Adds the checksum of each file that has none yet and has not changed since `states` was made.
void add_checksums(const std::string& out, Json& states) {
  for (auto& state : states) {
    const std::string path = path_of_name(out, state.at(0));
    const auto status = io::file_status(path);
    if (state.size() > 3 || !status || status->size != state.at(1) ||
        status->modified != state.at(2))
      continue;
    if (const auto crc = checksum(path); !crc.is_null()) state.push_back(crc);
  }
}

// Returns whether the recorded file `was` and the current file `is` have the same content. Names
// and times may differ, as in a copied folder. Copies the record to `is` if name, size and time are
// equal; otherwise adds a checksum to `is` if the comparison needs it.
bool same_content(const std::string& out, const Json& was, Json& is) {
  if (same_file(was, is)) {
    is = was;
    return true;
  }
  if (was.size() < 4 || was.at(1) != is.at(1)) return false;
  if (is.size() < 4)
    if (const auto crc = checksum(path_of_name(out, is.at(0))); !crc.is_null()) is.push_back(crc);
  return is.size() > 3 && was.at(3) == is.at(3);
}

enum class Names : std::uint8_t { any, same };

// Returns whether the lists of files have the same contents in order. With Names::any, inputs
// outside of the folder may have been renamed or moved.
bool same_contents(const std::string& out, const Json& was, Json& is, Names names) {
  if (was.size() != is.size()) return false;
  for (std::size_t i = 0; i < was.size(); ++i) {
    const bool own = names == Names::same || !was[i].at(0).get<std::string>().starts_with('/');
    if ((own && was[i].at(0) != is[i].at(0)) || !same_content(out, was[i], is[i])) return false;
  }
  return true;
}

// Returns the stage's current settings and inputs.
Json fingerprint(const std::string& out, const Stage& stage) {
  return {{"settings", stage.settings}, {"inputs", states_of(out, stage.inputs())}};
}

// Writes the record of the stage, including its outputs.
void write_record(const std::string& out, const Stage& stage, Json now) {
  now["outputs"] = states_of(out, stage.outputs());
  for (const char* side : {"inputs", "outputs"}) add_checksums(out, now[side]);
  io::write_file(record_path(out, stage.name), now.dump(1) + "\n");
}

// Adds the default value of fields that did not exist yet when the settings were recorded.
void add_defaults(const Json& defaults, Json& settings) {
  if (!settings.is_object() || !defaults.is_object()) return;
  for (auto&& [section, fields] : settings.items())
    if (fields.is_object() && defaults.contains(section))
      for (const auto& [field, value] : defaults.at(section).items())
        if (!fields.contains(field)) fields[field] = value;
}

// Returns the record of the stage: its fingerprint() and outputs at that time. Null if the record
// is missing or not readable.
Json recorded(const std::string& out, const Stage& stage) {
  const std::string record = record_path(out, stage.name);
  if (!io::exists(record)) return nullptr;
  auto was = Json::parse_or_discard(io::read_file(record, io::kSmallFileBytes));
  if (was.is_discarded() || !was.is_object() || !was.contains("settings")) return nullptr;
  add_defaults(stage.defaults, was["settings"]);
  for (const std::string& path : stage.formerly)
    for (const char* side : {"inputs", "outputs"})
      if (was.contains(side))
        std::erase_if(was.at(side).elements(),
                      [&](const auto& state) { return state.at(0) == name_in(out, path); });
  // Names of the current inputs, including missing ones.
  std::set<std::string> own;
  for (const std::string& path : stage.inputs()) own.insert(name_in(out, path));
  for (auto& input : was.at("inputs"))
    if (!own.contains(input.at(0))) input[0] = recorded_name(out, input.at(0));
  return was;
}

// Returns the names of the stages of a recipe's folder, in order.
std::vector<std::string> stage_names(const std::string& out) {
  const std::string path = record_path(out, kNames);
  const auto names =
      io::exists(path) ? Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes)) : Json();
  if (names.is_array()) return names.get<std::vector<std::string>>();
  return {"text", "vocab", "data"};  // the stages of older versions, which stored no names
}

// Returns the first missing input; empty if all exist.
std::string missing_input(const Stage& stage) {
  for (const std::string& input : stage.inputs())
    if (!io::exists(input)) return input;
  return "";
}

// Returns a description of the settings that differ; nullopt if none do. Records of old versions,
// which have no sections, are not compared.
std::optional<std::string> other_setting(const Json& was, const Json& is) {
  if (was.at("settings").type() != is.at("settings").type()) return std::nullopt;
  std::vector<std::string> changes;
  for (const io::JsonDifference& d : io::differences(was.at("settings"), is.at("settings"), ""))
    changes.push_back(str(d.name, " was ", d.was.dump(), ", is ", d.is.dump()));
  if (changes.empty()) return std::nullopt;
  return join(changes, "; ");
}

using Files = std::map<std::string, Json>;  // by name

Files files_of(const Json& states) {
  Files out;
  for (const auto& state : states) out[state.at(0)] = state;
  return out;
}

std::string names_of(const Json& states) {
  std::vector<std::string> names;
  for (const auto& state : states) names.push_back(state.at(0));
  return join(names, ", ");
}

// Returns how the inputs outside of the recipe's folder differ; nullopt if they do not. Inputs in
// the folder are outputs of other stages.
std::optional<std::string> other_input(const std::string& out, const Stage& stage,
                                       Json recorded_inputs, Json inputs) {
  if (same_contents(out, recorded_inputs, inputs, Names::any)) return std::nullopt;
  std::set<std::string> own;
  for (const std::string& path : stage.inputs())
    if (path.starts_with(io::join_path(out, ""))) own.insert(name_in(out, path));
  const auto foreign = [&](Json states) {
    std::erase_if(states.elements(), [&](const auto& state) { return own.contains(state.at(0)); });
    return states;
  };
  recorded_inputs = foreign(std::move(recorded_inputs));
  inputs = foreign(std::move(inputs));
  Files was = files_of(recorded_inputs), is = files_of(inputs);
  const auto count = [&](const std::string& which) {
    return str(stage.name, " had ", counted(was.size(), "input file"), ", has ", is.size(), ": ",
               which);
  };
  for (auto& [name, file] : is) {
    const auto before = was.find(name);
    if (before == was.end()) return count(name + " is new");
    if (before->second.at(1) != file.at(1))
      return str(stage.name, ": ", name, " was ",
                 counted(before->second.at(1).get<std::uint64_t>(), "byte"), ", is ",
                 counted(file.at(1).get<std::uint64_t>(), "byte"));
    if (before->second.size() > 3 && !same_content(out, before->second, file))
      return str(stage.name, ": ", name, " has changed");
  }
  for (const auto& [name, file] : was)
    if (!is.contains(name)) return count(name + " is missing");
  // Files may have been swapped, such as training and evaluation rows.
  if (const std::string before = names_of(recorded_inputs), now = names_of(inputs); before != now)
    return str(stage.name, ": the order of its files was ", before, ", is ", now);
  return std::nullopt;
}

// Returns why the recorded outputs are not valid any more, or nullopt. Adds checksums to `now`.
std::optional<std::string> other_outputs(const std::string& out, const Stage& stage,
                                         const Json& was, Json& now) {
  const auto outputs = stage.outputs();
  if (!std::ranges::all_of(outputs, [](const auto& path) { return io::exists(path); }))
    return "its output is missing";
  now["outputs"] = states_of(out, outputs);
  // Files that a user has added to an output folder are ignored.
  if (was.contains("outputs")) {
    std::set<std::string> made;
    for (const auto& state : was["outputs"]) made.insert(state.at(0));
    Json own = Json::array();
    for (auto& state : now["outputs"])
      if (made.contains(state.at(0))) own.push_back(std::move(state));
    now["outputs"] = std::move(own);
  }
  if (was.contains("outputs") && !same_contents(out, was["outputs"], now["outputs"], Names::same))
    return "its output has changed";
  return std::nullopt;
}

// Returns why a stage that has run before has to run again, or nullopt.
std::optional<std::string> why_again(const std::string& out, const Stage& stage, const Json& was,
                                     Json& now) {
  if (const auto other = other_setting(was, now)) return other;
  if (!same_contents(out, was.at("inputs"), now["inputs"], Names::any))
    return "its inputs have changed";
  return other_outputs(out, stage, was, now);
}

void send_stage(const Stage& stage, const char* state, const std::string& why = {}) {
  OrderedJson event{{"stage", stage.name}, {"state", state}};
  if (!why.empty()) event["why"] = why;
  send_event("stage", event);
}

}  // namespace

std::optional<std::string> changed_since(const std::string& out, const Stage& stage) {
  const Json was = recorded(out, stage);
  if (was.is_null()) return std::nullopt;
  const Json is = fingerprint(out, stage);
  if (const auto other = other_setting(was, is)) return other;
  if (outlives_its_inputs(out, stage)) return std::nullopt;
  return other_input(out, stage, was.at("inputs"), is.at("inputs"));
}

bool is_finished(const std::string& out, const Stage& stage) {
  return !recorded(out, stage).is_null() && !changed_since(out, stage) &&
         std::ranges::all_of(stage.outputs(), [](const auto& path) { return io::exists(path); });
}

// Returns whether the record has an input, or a folder of inputs, with the name of this file. The
// parent folder may differ because inputs can be moved. Patterns always match.
static bool was_input(const Json& was, const std::string& path) {
  if (path.find_first_of("*?[") != path.npos) return true;
  const std::string name = io::path_name(path);
  return std::ranges::any_of(was.at("inputs"), [&](const Json& state) {
    const std::string recorded = state.at(0);
    return io::path_name(recorded) == name || recorded.find(str("/", name, "/")) != recorded.npos ||
           recorded.starts_with(name + "/");
  });
}

bool outlives_its_inputs(const std::string& out, const Stage& stage) {
  if (missing_input(stage).empty()) return false;
  const Json was = recorded(out, stage);
  if (was.is_null()) return false;
  for (const std::string& input : stage.inputs())
    if (!io::exists(input) && !was_input(was, input)) return false;
  Json now = fingerprint(out, stage);
  return !other_setting(was, now) && !other_outputs(out, stage, was, now);
}

std::optional<std::string> stage_before_training(const std::string& out) {
  if (!io::exists(stages_folder(out))) return std::nullopt;
  for (const std::string& name : stage_names(out))
    if (name == "train" || !io::exists(record_path(out, name))) return name;
  return "train";
}

void check_output_folder(const std::string& out) {
  const auto status = io::file_status(out);
  if (status && !status->is_folder) throw_errno("out", out, ENOTDIR);
  if (status && !io::list_folder(out).empty() && !io::exists(stages_folder(out)))
    throw UsageError(str("out: ", out, " is not empty and not the folder of a run"),
                     "choose another folder with --set out=…");
}

void claim_output_folder(const std::string& out, const std::vector<Stage>& stages) {
  io::make_folders(stages_folder(out));
  Json names = Json::array();
  for (const Stage& stage : stages) names.push_back(stage.name);
  io::write_file(record_path(out, kNames), names.dump() + "\n");
}

void forget_stage(const std::string& out, const std::string& name) {
  io::remove_file(record_path(out, name));
}

void note_stage(const std::string& out, const Stage& stage) {
  write_record(out, stage, fingerprint(out, stage));
}

std::optional<Json> begin_stage(const std::string& out, const Stage& stage) {
  const std::string record = record_path(out, stage.name);
  if (const std::string missing = missing_input(stage); !missing.empty()) {
    if (!outlives_its_inputs(out, stage)) io::throw_missing(stage.name, missing);
    log_warning("{}: {} is missing; using the files that were made from it", stage.name, missing);
    send_stage(stage, "skipped");
    return std::nullopt;
  }
  Json now = fingerprint(out, stage);
  if (const Json was = recorded(out, stage); !was.is_null()) {
    const auto why = why_again(out, stage, was, now);
    if (!why) {
      log_info("{}: up to date", stage.name);
      send_stage(stage, "skipped");
      // The modification times differ in a copied folder.
      if (now != was) io::write_file(record, now.dump(1) + "\n");
      return std::nullopt;
    }
    log_info("{}: started again: {}", stage.name, *why);
    send_stage(stage, "started", *why);
  } else {
    log_info("{}: started", stage.name);
    send_stage(stage, "started");
  }
  io::remove_file(record);
  return now;
}

void end_stage(const std::string& out, const Stage& stage, Json made_from) {
  write_record(out, stage, std::move(made_from));
  send_stage(stage, "finished");
}

bool run_stage(const std::string& out, const Stage& stage) {
  const StopNotice notice;
  auto made_from = begin_stage(out, stage);
  if (!made_from) return false;
  stage.make();
  end_stage(out, stage, *std::move(made_from));
  return true;
}

}  // namespace smelt::pipeline
