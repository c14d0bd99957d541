#include "recipe/stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/stop_notice.h"
#include "base/words.h"
#include "format/json_difference.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr const char* kNames = "names";  // no stage's

std::string stages_folder(const std::string& out) { return join_path(out, ".stages"); }

std::string record_path(const std::string& out, const std::string& name) {
  return join_path(stages_folder(out), name + ".json");
}

// A file of the recipe's own folder by its name in there, so that the folder may be moved; another
// by its whole name, so that the program may be started anywhere.
std::string name_in(const std::string& out, const std::string& path) {
  const std::string folder = join_path(out, "");
  if (path.starts_with(folder)) return path.substr(folder.size());
  return is_remote(path) ? path : canonical_path(path);
}

// The same of a name that was recorded: older records have paths as they were given.
std::string recorded_name(const std::string& out, const std::string& name) {
  const std::string folder = join_path(out, "");
  if (name.starts_with(folder)) return name.substr(folder.size());
  const bool given = !is_remote(name) && exists(name) && !exists(join_path(out, name));
  return given ? canonical_path(name) : name;
}

// The files of these paths, each as [name, size, time of the last change]. Of a folder all that it
// holds.
void add_states(const std::string& out, const std::vector<std::string>& paths,
                nlohmann::json& states) {
  for (const std::string& path : paths) {
    const auto status = file_status(path);
    if (!status) continue;
    if (!status->is_folder) {
      states.push_back({name_in(out, path), status->size, status->modified});
      continue;
    }
    std::vector<std::string> below;
    for (const std::string& name : list_folder(path)) below.push_back(join_path(path, name));
    add_states(out, below, states);
  }
}

nlohmann::json states_of(const std::string& out, const std::vector<std::string>& paths) {
  nlohmann::json states = nlohmann::json::array();
  add_states(out, paths, states);
  return states;
}

// What the stage would be made from now.
nlohmann::json fingerprint(const std::string& out, const Stage& stage) {
  return {{"settings", stage.settings}, {"inputs", states_of(out, stage.inputs())}};
}

// What fingerprint() was when the stage was recorded, and its outputs then; null when it was not,
// or not legibly.
nlohmann::json recorded(const std::string& out, const Stage& stage) {
  const std::string record = record_path(out, stage.name);
  if (!exists(record)) return nullptr;
  auto was = nlohmann::json::parse(read_file(record, kSmallFileBytes), nullptr, false);
  if (was.is_discarded() || !was.is_object() || !was.contains("settings")) return nullptr;
  std::set<std::string> own;  // also where they are not there now
  for (const std::string& path : stage.inputs()) own.insert(name_in(out, path));
  for (auto& input : was.at("inputs"))
    if (!own.contains(input.at(0))) input[0] = recorded_name(out, input.at(0));
  return was;
}

// Those of a recipe's folder, in their order.
std::vector<std::string> stage_names(const std::string& out) {
  const std::string path = record_path(out, kNames);
  const auto names = exists(path)
                         ? nlohmann::json::parse(read_file(path, kSmallFileBytes), nullptr, false)
                         : nlohmann::json();
  if (names.is_array()) return names.get<std::vector<std::string>>();
  return {"text", "vocab", "data"};  // of an older version
}

// A record of an older version, which knew no sections, says nothing.
std::optional<std::string> other_setting(const nlohmann::json& was, const nlohmann::json& is) {
  if (was.at("settings").type() != is.at("settings").type()) return std::nullopt;
  const auto d = first_difference(was.at("settings"), is.at("settings"), "");
  if (!d) return std::nullopt;
  return str(d->name, " was ", d->was.dump(), ", is ", d->is.dump());
}

using Sizes = std::map<std::string, std::uint64_t>;  // by name

Sizes sizes_of(const nlohmann::json& states) {
  Sizes out;
  for (const auto& state : states) out[state.at(0)] = state.at(1);
  return out;
}

// Of inputs from elsewhere. Those of the recipe's own folder are made again by their stages.
std::optional<std::string> other_input(const std::string& out, const Stage& stage, Sizes was,
                                       Sizes is) {
  for (const std::string& path : stage.inputs())
    if (const std::string name = name_in(out, path); name != path) {
      was.erase(name);
      is.erase(name);
    }
  const auto count = [&](const std::string& which) {
    return str(stage.name, " had ", counted(was.size(), "input file"), ", has ", is.size(), ": ",
               which);
  };
  for (const auto& [name, size] : is) {
    const auto before = was.find(name);
    if (before == was.end()) return count(name + " is new");
    if (before->second != size)
      return str(stage.name, ": ", name, " was ", counted(before->second, "byte"), ", is ",
                 counted(size, "byte"));
  }
  for (const auto& [name, size] : was)
    if (!is.contains(name)) return count(name + " is not there");
  return std::nullopt;
}

// Why a stage has to run although it did before.
std::optional<std::string> why_again(const std::string& out, const Stage& stage,
                                     const nlohmann::json& was, const nlohmann::json& is) {
  if (const auto other = other_setting(was, is)) return other;
  if (was.at("inputs") != is.at("inputs")) return "what it is made from is not as it was";
  const auto outputs = stage.outputs();
  if (!std::ranges::all_of(outputs, [](const auto& path) { return exists(path); }))
    return "what it had made is not there";
  if (was.contains("outputs") && was["outputs"] != states_of(out, outputs))
    return "what it had made is not as it was";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> changed_since(const std::string& out, const Stage& stage) {
  const nlohmann::json was = recorded(out, stage);
  if (was.is_null()) return std::nullopt;
  const nlohmann::json is = fingerprint(out, stage);
  if (const auto other = other_setting(was, is)) return other;
  return other_input(out, stage, sizes_of(was.at("inputs")), sizes_of(is.at("inputs")));
}

std::optional<std::string> stage_before_training(const std::string& out) {
  if (!exists(stages_folder(out))) return std::nullopt;
  for (const std::string& name : stage_names(out))
    if (name == "train" || !exists(record_path(out, name))) return name;
  return "train";
}

void check_output_folder(const std::string& out) {
  const auto status = file_status(out);
  if (status && !status->is_folder) throw_errno("out", out, ENOTDIR);
  if (status && !list_folder(out).empty() && !exists(stages_folder(out)))
    throw UsageError(str("out: ", out, " already holds something else"),
                     "choose another folder with --set out=…");
}

void claim_output_folder(const std::string& out, const std::vector<Stage>& stages) {
  check_output_folder(out);
  make_folders(stages_folder(out));
  nlohmann::json names = nlohmann::json::array();
  for (const Stage& stage : stages) names.push_back(stage.name);
  write_file(record_path(out, kNames), names.dump() + "\n");
}

void forget_stage(const std::string& out, const std::string& name) {
  remove_file(record_path(out, name));
}

bool run_stage(const std::string& out, const Stage& stage) {
  const StopNotice notice;
  const std::string record = record_path(out, stage.name);
  for (const std::string& input : stage.inputs())
    if (!exists(input)) throw_missing(stage.name, input);
  nlohmann::json now = fingerprint(out, stage);
  if (const nlohmann::json was = recorded(out, stage); !was.is_null()) {
    const auto why = why_again(out, stage, was, now);
    if (!why) {
      spdlog::info("{}: finished before", stage.name);
      return false;
    }
    spdlog::info("{}: started again: {}", stage.name, *why);
  } else {
    spdlog::info("{}: started", stage.name);
  }
  remove_file(record);
  stage.make();
  now["outputs"] = states_of(out, stage.outputs());
  write_file(record, now.dump(1) + "\n");
  return true;
}

}  // namespace smelt
