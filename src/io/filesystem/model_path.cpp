#include "io/filesystem/model_path.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/str.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_path.h"

namespace smelt::io {
namespace {

// Returns whether the last part of a path is that of a local file or checkpoint, such as a recipe.
bool names_a_file(const std::string& name) {
  constexpr std::array kEndings{".yaml", ".yml", ".onnx", ".safetensors", ".json", ".txt"};
  return name.find(".ckpt") != std::string::npos || path_name(name).starts_with("checkpoint-") ||
         std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::string model_path(const std::string& name, std::string_view what,
                       const std::string& directory) {
  const bool is_relative = !directory.empty() && !is_remote(name) && !name.starts_with('/');
  const std::string local = is_relative ? join_path(directory, name) : name;
  if (!is_repo_id(name) || names_a_file(name) || exists(local) || exists(parent_path(local)))
    return local;
  const std::string found = str("hf://", name);
  log_info("{}: no local folder {}; reading {} from the Hugging Face Hub", what, name, found);
  return found;
}

}  // namespace smelt::io
