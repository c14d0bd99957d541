#include "cli/stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "store/file.h"

namespace smelt {
namespace fs = std::filesystem;
namespace {

std::string stages_folder(const std::string& out) { return out + "/.stages"; }

// Settings and what the inputs look like: path, size and time of the last change of each.
std::string fingerprint(const Stage& stage) {
  nlohmann::json made_from{{"settings", stage.settings}, {"inputs", nlohmann::json::array()}};
  for (const std::string& input : stage.inputs)
    made_from["inputs"].push_back({input, fs::file_size(input),
                                   fs::last_write_time(input).time_since_epoch().count()});
  return made_from.dump(1) + "\n";
}

}  // namespace

void claim_output_folder(const std::string& out) {
  std::error_code error;
  if (fs::exists(out) && !fs::is_directory(out)) throw_errno("out", out, ENOTDIR);
  if (fs::exists(out) && !fs::is_empty(out) && !fs::exists(stages_folder(out)))
    throw UsageError(str("out: ", out, " already holds something else"),
                     "choose another folder with --set out=…");
  fs::create_directories(stages_folder(out), error);
  if (error) throw_errno("create directory", out, error.value());
}

bool run_stage(const std::string& out, const Stage& stage) {
  const std::string record = str(stages_folder(out), "/", stage.name, ".json");
  const std::string now = fingerprint(stage);
  const bool outputs_there =
      std::ranges::all_of(stage.outputs, [](const auto& path) { return fs::exists(path); });
  if (outputs_there && fs::exists(record) && read_file(record) == now) {
    spdlog::info("{}: finished before", stage.name);
    return false;
  }
  spdlog::info("{}: started", stage.name);
  fs::remove(record);
  stage.make();
  write_file(record, now);
  return true;
}

}  // namespace smelt
