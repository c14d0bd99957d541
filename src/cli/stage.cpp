#include "cli/stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

std::string stages_folder(const std::string& out) { return join_path(out, ".stages"); }

// Settings and what the inputs look like: path, size and time of the last change of each.
std::string fingerprint(const Stage& stage) {
  nlohmann::json made_from{{"settings", stage.settings}, {"inputs", nlohmann::json::array()}};
  for (const std::string& input : stage.inputs) {
    const auto status = file_status(input);
    if (!status) throw_missing(stage.name, input);
    made_from["inputs"].push_back({input, status->size, status->modified});
  }
  return made_from.dump(1) + "\n";
}

}  // namespace

void claim_output_folder(const std::string& out) {
  const auto status = file_status(out);
  if (status && !status->is_folder) throw_errno("out", out, ENOTDIR);
  if (status && !list_folder(out).empty() && !exists(stages_folder(out)))
    throw UsageError(str("out: ", out, " already holds something else"),
                     "choose another folder with --set out=…");
  make_folders(stages_folder(out));
}

bool run_stage(const std::string& out, const Stage& stage) {
  const std::string record = join_path(stages_folder(out), stage.name + ".json");
  const std::string now = fingerprint(stage);
  const bool outputs_there =
      std::ranges::all_of(stage.outputs, [](const auto& path) { return exists(path); });
  if (outputs_there && exists(record) && read_file(record) == now) {
    spdlog::info("{}: finished before", stage.name);
    return false;
  }
  spdlog::info("{}: started", stage.name);
  remove_file(record);
  stage.make();
  write_file(record, now);
  return true;
}

}  // namespace smelt
