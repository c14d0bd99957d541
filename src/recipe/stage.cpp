#include "recipe/stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/stop_notice.h"
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

// Settings and what the inputs look like: path, size and time of the last change of each.
nlohmann::json fingerprint(const std::string& out, const Stage& stage) {
  nlohmann::json made_from{{"settings", stage.settings}, {"inputs", nlohmann::json::array()}};
  for (const std::string& input : stage.inputs) {
    const auto status = file_status(input);
    if (!status) throw_missing(stage.name, input);
    made_from["inputs"].push_back({name_in(out, input), status->size, status->modified});
  }
  return made_from;
}

// What fingerprint() was when the stage was recorded; null when it was not, or not legibly.
nlohmann::json recorded(const std::string& out, const Stage& stage) {
  const std::string record = record_path(out, stage.name);
  if (!exists(record)) return nullptr;
  auto was = nlohmann::json::parse(read_file(record, kSmallFileBytes), nullptr, false);
  if (was.is_discarded()) return nullptr;
  for (auto& input : was.at("inputs")) input[0] = recorded_name(out, input.at(0));
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

// Names and sizes, without the times.
nlohmann::json inputs_of(const nlohmann::json& made_from) {
  nlohmann::json out;
  for (const auto& input : made_from.at("inputs")) out.push_back({input.at(0), input.at(1)});
  return out;
}

}  // namespace

static std::optional<std::string> text_of(const std::optional<JsonDifference>& d) {
  if (!d) return std::nullopt;
  return str(d->name, " was ", d->was.dump(), ", is ", d->is.dump());
}

std::optional<std::string> changed_since(const std::string& out, const Stage& stage) {
  const nlohmann::json was = recorded(out, stage);
  if (was.is_null()) return std::nullopt;
  const nlohmann::json is = fingerprint(out, stage);
  if (const auto found = first_difference(was.at("settings"), is.at("settings"), stage.name))
    return text_of(found);
  const auto before = inputs_of(was), now = inputs_of(is);
  if (before.size() != now.size())
    return str(stage.name, " had ", before.size(), " input files, has ", now.size());
  return text_of(first_difference(before, now, str(stage.name, "'s input")));
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
  const nlohmann::json now = fingerprint(out, stage);
  const bool outputs_there =
      std::ranges::all_of(stage.outputs, [](const auto& path) { return exists(path); });
  if (outputs_there && recorded(out, stage) == now) {
    spdlog::info("{}: finished before", stage.name);
    return false;
  }
  spdlog::info("{}: started", stage.name);
  remove_file(record);
  stage.make();
  write_file(record, now.dump(1) + "\n");
  return true;
}

}  // namespace smelt
