#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/layout.h"
#include "format/crc32c.h"
#include "store/file.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A directory on its way: being written, written beside an earlier one, set aside, being removed.
constexpr std::string_view kNew = ".new";
constexpr std::string_view kReplaced = ".replaced";
constexpr std::string_view kRemoved = ".removed";

// The tensors in order of name, cut where a file is full.
std::vector<TensorMap> shards(const TensorMap& tensors, std::uint64_t shard_bytes) {
  std::vector<TensorMap> parts(1);
  std::uint64_t held = 0;
  for (const auto& [name, tensor] : tensors) {
    if (held > 0 && held + tensor.data.size() > shard_bytes) {
      parts.emplace_back();
      held = 0;
    }
    parts.back().emplace(name, tensor);
    held += tensor.data.size();
  }
  return parts;
}

// Writes one file of tensors and gives its line of the manifest.
json write_shard(const std::string& path, const std::string& name, const TensorMap& tensors) {
  OutputFile file(path);
  std::uint32_t crc = 0;
  std::uint64_t size = 0;
  write_safetensors(tensors, {}, [&](std::string_view piece) {
    file.write(piece);
    crc = crc32c(piece, crc);
    size += piece.size();
  });
  file.commit();
  return {{"name", name}, {"size_bytes", size}, {"crc32c", hex_text(crc)}};
}

void write_members(const OutputDirectory& directory, std::int64_t step, const TensorMap& tensors,
                   const json& state, std::uint64_t shard_bytes) {
  json manifest = {{"format", kManifestFormat}, {"step", step},   {"files", json::array()},
                   {"tensors", json::object()}, {"state", state}};
  const std::vector<TensorMap> parts = shards(tensors, shard_bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = shard_name(i, parts.size());
    manifest["files"].push_back(write_shard(directory.file(name), name, parts[i]));
    for (const auto& [tensor, view] : parts[i])
      manifest["tensors"][tensor] = {{"dtype", safetensors_dtype(view.shape.dtype)},
                                     {"shape", view.shape.dims},
                                     {"file", name}};
  }
  const std::string text = manifest.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  write_file(directory.file(kManifestFile), text);
  write_file(directory.file(kCommitFile), commit_text(text));
}

void rename_directory(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw_errno("rename", from, error.value());
}

// Under another name first: a removal that is interrupted leaves no checkpoint with files missing.
void remove_checkpoint(const std::string& path) {
  const std::string removed = str(path, kRemoved);
  rename_directory(path, removed);
  std::error_code error;
  fs::remove_all(removed, error);
  if (error) throw_errno("remove", removed, error.value());
}

// So that another program's folder of the same name is never taken for a broken checkpoint of ours.
bool holds_only_checkpoint_files(const fs::path& directory) {
  const auto entries = directory_entries(directory);
  return std::all_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    const std::string name = entry.filename();
    return name == kManifestFile || name == kCommitFile ||
           (name.starts_with("tensors-") && name.find(".safetensors") != name.npos);
  });
}

// What killed saves and removals left behind.
bool is_remains(const fs::path& path) {
  if (!fs::is_directory(path)) return false;
  const std::string name = path.filename();
  if (step_of(name)) return !fs::exists(path / kCommitFile) && holds_only_checkpoint_files(path);
  const auto dot = name.find('.');
  if (dot == std::string::npos || !step_of(name.substr(0, dot))) return false;
  std::string suffix = name.substr(dot);
  if (suffix == kReplaced) return fs::exists(path.parent_path() / name.substr(0, dot) / kCommitFile);
  if (suffix.starts_with(str(kNew, "."))) suffix.erase(0, kNew.size());
  return suffix == kNew || suffix == kRemoved || suffix.starts_with(".partial-");
}

void remove_remains(const std::string& model_dir) {
  for (const fs::path& path : directory_entries(model_dir)) {
    if (!is_remains(path)) continue;
    std::error_code error;
    fs::remove_all(path, error);
    if (error) throw_errno("remove", path.string(), error.value());
  }
}

void replace(const std::string& path, const std::string& by) {
  const std::string aside = str(path, kReplaced);
  rename_directory(path, aside);
  rename_directory(by, path);
  fs::remove_all(aside);
}

void rotate(const std::string& model_dir, std::int64_t step, int max_to_keep) {
  if (max_to_keep == 0) return;
  std::vector<std::int64_t> steps = checkpoint_steps(model_dir);
  std::erase_if(steps, [&](std::int64_t other) { return other > step; });
  for (std::size_t i = 0; i + max_to_keep < steps.size(); ++i)
    remove_checkpoint(checkpoint_path(model_dir, steps[i]));
}

}  // namespace

void save_checkpoint(const std::string& model_dir, std::int64_t step, const TensorMap& tensors,
                     const json& state, const SaveOptions& options) {
  CHECK(step >= 0 && options.max_to_keep >= 0 && options.shard_bytes > 0);
  remove_remains(model_dir);
  const std::string path = checkpoint_path(model_dir, step);
  const bool exists = fs::exists(fs::path(path) / kCommitFile);
  const std::string place = exists ? str(path, kNew) : path;
  OutputDirectory directory(place);
  write_members(directory, step, tensors, state, options.shard_bytes);
  directory.commit();
  if (exists) replace(path, place);
  rotate(model_dir, step, options.max_to_keep);
}

}  // namespace smelt
