#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <span>

#include "base/error.h"
#include "base/parallel.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "checkpoint/storage/save_parts.h"
#include "checkpoint/storage/slice_lines.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"

namespace smelt::checkpoint {

Json write_shard(const std::string& path, const std::string& name, const io::TensorMap& tensors) {
  io::OutputFile file(path, io::OutputFile::Cache::bypassed);
  std::uint32_t crc = 0;
  std::uint64_t size = 0;
  io::write_safetensors(tensors, {}, [&](std::string_view piece) {
    file.write(piece);
    crc = io::crc32c(piece, crc);
    size += piece.size();
  });
  file.commit();
  Json pieces = Json::object();
  for (const auto& [tensor, view] : tensors) pieces[tensor] = checksum_text(view.data);
  return {{"name", name},
          {"size_bytes", size},
          {"crc32c", io::hex_text(crc)},
          {kPieceChecksums, std::move(pieces)}};
}

void write_manifest(const io::OutputDirectory& directory, std::int64_t step,
                    const SlicedTensors& tensors, Json lines, const PieceFiles& files,
                    const Json& state, const SaveOptions& options) {
  const bool whole =
      std::ranges::all_of(tensors, [](const auto& item) { return item.second.is_complete(); });
  Json manifest = {{"format", whole ? kManifestFormat : kSlicedFormat},
                   {"step", step},
                   {"files", std::move(lines)},
                   {"tensors", Json::object()},
                   {"state", state}};
  for (const auto& [name, tensor] : tensors)
    manifest["tensors"][name] = tensor_line(name, tensor, files);
  const std::string text = manifest.dump(1, ' ', false, JsonInvalidUtf8::replace) + "\n";
  io::write_file(directory.file(kManifestFile), text);
  options.require_held();
  io::write_file(directory.file(kCommitFile), commit_text(text));
}

namespace {

// Suffixes of the directories during a replacement: of the new checkpoint and of the replaced one.
constexpr std::string_view kNew = ".new";
constexpr std::string_view kReplaced = ".replaced";

// Distributes the tensors over files in order of name. Closes a file before it would exceed
// `shard_bytes`.
std::vector<io::TensorMap> shards(const io::TensorMap& tensors, std::uint64_t shard_bytes) {
  std::vector<io::TensorMap> parts(1);
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

// Returns all whole tensors and slices by their names in the files.
io::TensorMap all_pieces(const SlicedTensors& tensors) {
  io::TensorMap pieces;
  for (const auto& [name, tensor] : tensors)
    for (const TensorSlice& slice : tensor.slices)
      CHECK(pieces.emplace(piece_name(name, tensor, slice), slice.part).second, name);
  return pieces;
}

// Writes the files in parallel. Returns their entries for the manifest.
Json write_files(const io::OutputDirectory& directory, const std::vector<io::TensorMap>& parts) {
  Json lines = Json::array();
  lines.elements().resize(parts.size());
  std::atomic<std::size_t> next = 0;
  run_parallel(std::min(static_cast<int>(parts.size()), kFilesAtOnce), [&](int) {
    for (std::size_t i; (i = next++) < parts.size();) {
      const std::string name = shard_name(i, parts.size());
      lines[i] = write_shard(directory.file(name), name, parts[i]);
    }
  });
  return lines;
}

void write_members(const io::OutputDirectory& directory, std::int64_t step,
                   const SlicedTensors& tensors, const Json& state, const SaveOptions& options) {
  const std::vector<io::TensorMap> parts = shards(all_pieces(tensors), options.shard_bytes);
  Json lines = write_files(directory, parts);
  PieceFiles files;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const auto& [piece, view] : parts[i]) files.emplace(piece, lines[i]["name"]);
  write_manifest(directory, step, tensors, std::move(lines), files, state, options);
}

void rename_directory(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) throw_errno("rename", from, error.value());
}

bool is_committed(const std::string& path) { return io::exists(io::join_path(path, kCommitFile)); }

bool is_complete(const std::string& path) {
  const std::string manifest = io::join_path(path, kManifestFile);
  return is_committed(path) && io::exists(manifest) &&
         io::read_file(io::join_path(path, kCommitFile)) == commit_text(io::read_file(manifest));
}

void remove_committed(const std::string& path) {
  if (is_committed(path)) remove_checkpoint(path);
}

CheckpointNames other(CheckpointNames names) {
  return names == CheckpointNames::smelt ? CheckpointNames::jestimator : CheckpointNames::smelt;
}

// Prevents a folder of another program with the same name from being deleted as a broken
// checkpoint.
bool holds_only_checkpoint_files(const std::string& directory) {
  return std::ranges::all_of(io::list_folder(directory), [](const std::string& name) {
    return name == kManifestFile || name == kCommitFile ||
           (name.starts_with("tensors-") && name.find(".safetensors") != name.npos);
  });
}

// Earlier versions named partial folders by process id.
bool is_older_partial(std::string_view suffix) {
  if (suffix.starts_with(kNew)) suffix.remove_prefix(kNew.size());
  constexpr std::string_view kBegin = ".partial-";
  return suffix.starts_with(kBegin) && suffix.size() > kBegin.size() &&
         suffix.find_first_not_of("0123456789", kBegin.size()) == suffix.npos;
}

// Whether `name` is a leftover of an interrupted save or removal.
bool is_remains(const std::string& model_dir, const std::string& name) {
  const std::string path = io::join_path(model_dir, name);
  const auto dot = name.find('.');
  if (!step_of(name.substr(0, dot)) || !io::is_folder(path)) return false;
  if (dot == std::string::npos) return !is_committed(path) && holds_only_checkpoint_files(path);
  const std::string_view suffix = std::string_view(name).substr(dot);
  if (suffix == kReplaced) return is_committed(io::join_path(model_dir, name.substr(0, dot)));
  const auto place = io::place_of_partial(suffix);
  return suffix == kNew || place == "" || place == kNew || is_older_partial(suffix);
}

void replace(const std::string& path, const std::string& by) {
  const std::string aside = str(path, kReplaced);
  rename_directory(path, aside);
  rename_directory(by, path);
  io::remove_tree(aside);
}

void remove_steps(const std::string& model_dir, std::span<const std::int64_t> steps) {
  for (const std::int64_t step : steps)
    for (const CheckpointNames names : {CheckpointNames::smelt, CheckpointNames::jestimator})
      remove_committed(checkpoint_path(model_dir, step, names));
}

// Removes the oldest checkpoints up to `step` beyond max_to_keep, except options.spare.
void rotate(const std::string& model_dir, std::int64_t step, const SaveOptions& options) {
  if (options.max_to_keep == 0) return;
  std::vector<std::int64_t> steps = checkpoint_steps(model_dir);
  std::erase_if(steps, [&](std::int64_t other) { return other > step; });
  if (options.spare) std::erase(steps, *options.spare);
  const auto kept = static_cast<std::size_t>(options.max_to_keep);
  remove_steps(model_dir, std::span(steps).first(steps.size() - std::min(steps.size(), kept)));
}

}  // namespace

void remove_remains(const std::string& model_dir) {
  for (const std::string& name : io::list_folder(model_dir))
    if (is_remains(model_dir, name)) io::remove_tree(io::join_path(model_dir, name));
}

void finish_removals(const std::string& model_dir, std::int64_t step, const SaveOptions& options) {
  if (!io::is_folder(model_dir)) return;
  options.require_held();
  remove_remains(model_dir);
  rotate(model_dir, step, options);
}

void take_back_checkpoints(const std::string& model_dir) {
  if (io::is_remote(model_dir) || !io::is_folder(model_dir)) return;
  for (const std::string_view suffix : {kNew, kReplaced})
    for (const std::string& name : io::list_folder(model_dir)) {
      if (!name.ends_with(suffix)) continue;
      const std::string place = name.substr(0, name.size() - suffix.size());
      const std::string from = io::join_path(model_dir, name), to = io::join_path(model_dir, place);
      if (step_of(place) && is_complete(from) && !io::exists(to)) rename_directory(from, to);
    }
}

namespace {

using WriteMembers = std::function<void(const io::OutputDirectory&)>;

void write_directory(const std::string& path, const WriteMembers& write) {
  io::OutputDirectory directory(path);
  write(directory);
  directory.commit();
}

// Returns a function that copies the files of a committed checkpoint, COMMIT last.
WriteMembers members_of(const std::string& from, const SaveOptions& options) {
  return [&options, from](const io::OutputDirectory& directory) {
    for (const std::string& name : io::list_folder(from))
      if (name != kCommitFile) io::share_file(io::join_path(from, name), directory.file(name));
    options.require_held();
    io::share_file(io::join_path(from, kCommitFile), directory.file(kCommitFile));
  };
}

// Replaces a checkpoint on an object store, which cannot rename. Before it removes the earlier
// checkpoint, it writes the new one under the other naming scheme (CheckpointNames), which readers
// accept too.
void replace_on_store(const std::string& path, const std::string& other_path,
                      const SaveOptions& options, const WriteMembers& write) {
  remove_committed(other_path);  // from a save that was interrupted here
  write_directory(other_path, write);
  options.require_held();
  remove_checkpoint(path);
  write_directory(path, members_of(other_path, options));
}

}  // namespace

void publish_checkpoint(const std::string& model_dir, std::int64_t step, const SaveOptions& options,
                        const WriteMembers& write) {
  CHECK(step >= 0 && options.max_to_keep >= 0);
  options.require_held();
  take_back_checkpoints(model_dir);
  remove_remains(model_dir);
  const std::string path = checkpoint_path(model_dir, step, options.names);
  const std::string other_path = checkpoint_path(model_dir, step, other(options.names));
  if (!is_committed(path)) {
    write_directory(path, write);
  } else if (io::is_remote(path)) {
    replace_on_store(path, other_path, options, write);
  } else {
    write_directory(str(path, kNew), write);
    options.require_held();
    replace(path, str(path, kNew));
  }
  options.require_held();
  remove_committed(other_path);
  rotate(model_dir, step, options);
}

void remove_checkpoint(const std::string& path) {
  io::remove_file(io::join_path(path, kCommitFile));
  io::remove_tree(path);
}

void save_checkpoint(const std::string& model_dir, std::int64_t step, const io::TensorMap& tensors,
                     const Json& state, const SaveOptions& options) {
  save_sliced_checkpoint(model_dir, step, slices_of(tensors), state, options);
}

void save_sliced_checkpoint(const std::string& model_dir, std::int64_t step,
                            const SlicedTensors& tensors, const Json& state,
                            const SaveOptions& options) {
  CHECK(options.shard_bytes > 0);
  publish_checkpoint(model_dir, step, options, [&](const io::OutputDirectory& directory) {
    write_members(directory, step, tensors, state, options);
  });
}

void keep_checkpoint(const std::string& model_dir, std::int64_t step, const std::string& folder,
                     const SaveOptions& options) {
  publish_checkpoint(folder, step, options, members_of(committed_path(model_dir, step), options));
}

}  // namespace smelt::checkpoint
