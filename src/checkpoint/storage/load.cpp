
#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "checkpoint/storage/lazy_files.h"
#include "checkpoint/storage/parameter_names.h"
#include "checkpoint/storage/slice_lines.h"
#include "io/filesystem/file.h"
#include "io/filesystem/file_content.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"

namespace smelt::checkpoint {
namespace {

std::string member(const std::string& path, std::string_view name) {
  std::string file = io::join_path(path, name);
  const auto status = io::file_status(file);
  if (!status) throw_damaged(path, str(name, " is missing"));
  if (status->is_folder) throw_damaged(path, str(name, " is a folder, expected a file"));
  return file;
}

Json read_manifest(const std::string& path) {
  const std::string commit = io::read_file(member(path, kCommitFile));
  const std::string text = io::read_file(member(path, kManifestFile));
  if (commit != commit_text(text))
    throw_damaged(path, str(kManifestFile, " is damaged: expected '", trim(commit),
                            "' as in COMMIT, but its crc32c is ", io::hex_text(io::crc32c(text))));
  const Json manifest = Json::parse(text);
  const std::string format = manifest.value("format", "");
  if (format != kManifestFormat && format != kSlicedFormat)
    throw UsageError(str("checkpoint: ", path, ": format '", format, "' is neither '",
                         kManifestFormat, "' nor '", kSlicedFormat, "'"),
                     "load it with the version of smelt that wrote it");
  return manifest;
}

void check_size(const std::string& path, const Json& line, std::uint64_t found) {
  const auto size = line.at("size_bytes").get<std::uint64_t>();
  if (found != size)
    throw_damaged(path, str(line.at("name").get<std::string>(), " has ", found,
                            " bytes, but the manifest lists ", size));
}

io::SafetensorsFile read_shard(const std::string& path, const Json& line) {
  const auto name = line.at("name").get<std::string>();
  const io::FileContent content(member(path, name));
  const std::string_view bytes = content.bytes();
  check_size(path, line, bytes.size());
  const std::string crc = io::hex_text(io::crc32c(bytes)),
                    said = line.at("crc32c").get<std::string>();
  if (crc != said)
    throw_damaged(path,
                  str(name, " is damaged: its crc32c is ", crc, ", but the manifest lists ", said));
  return {content.owner(), bytes, io::join_path(path, name)};
}

// Throws DamagedCheckpoint for a manifest with a correct checksum but invalid fields.
[[noreturn]] void throw_strange(const std::string& path, const JsonError& error) {
  throw_damaged(path, str(kManifestFile, " has an invalid field: ", error.what()));
}

void add_file(const std::string& path, const Json& line, Pieces pieces, FilePieces& files) {
  const auto name = line.at("name").get<std::string>();
  if (!files.emplace(name, std::move(pieces)).second)
    throw_damaged(path, str(kManifestFile, " lists ", name, " twice"));
}

FilePieces read_files(const std::string& path, const Json& lines, SlicedCheckpoint& checkpoint) {
  std::vector<std::shared_ptr<const io::SafetensorsFile>> read(lines.size());
  run_each(lines.size(), kFilesAtOnce, [&](std::size_t i) {
    read[i] = std::make_shared<const io::SafetensorsFile>(read_shard(path, lines[i]));
  });
  FilePieces files;
  for (std::size_t i = 0; i < read.size(); ++i)
    add_file(path, lines[i], pieces_of(read[i]->tensors()), files);
  checkpoint.owners.assign(read.begin(), read.end());
  return files;
}

io::LazyTensors open_shard(const std::string& path, const std::string& file) try {
  return open_safetensors(file);
} catch (const UsageError& error) {
  throw_damaged(path, error.what());
}

// Returns a function that reads the tensor and checks its checksum on every call.
io::PutBytes put_checked(const std::string& path, const std::string& what,
                         const io::LazyTensor& tensor, const std::string& said) {
  return [path, what, read = tensor.read, said](std::span<std::byte> to) {
    std::vector<std::byte> bytes;
    try {
      bytes = read();
    } catch (const UsageError& error) {
      throw_damaged(path, error.what());
    }
    if (const std::string crc = checksum_text(bytes); crc != said)
      throw_damaged(
          path, str(what, " is damaged: its crc32c is ", crc, ", but the manifest lists ", said));
    std::ranges::copy(bytes, to.begin());
  };
}

// Opens the tensors of a file. Reads only the file's header.
Pieces open_pieces(const std::string& path, const Json& line) {
  const auto name = line.at("name").get<std::string>();
  const std::string file = member(path, name);
  check_size(path, line, io::file_size(file));
  const Json& checksums = line.at(kPieceChecksums);
  Pieces out;
  for (const auto& [tensor, lazy] : open_shard(path, file)) {
    const std::string what = str("'", tensor, "' of ", name);
    if (!checksums.contains(tensor))
      throw_damaged(path, str(kManifestFile, " does not list ", what));
    out.emplace(tensor, Piece{.view = {lazy.shape, {}},
                              .put = put_checked(path, what, lazy,
                                                 checksums.at(tensor).get<std::string>())});
  }
  return out;
}

FilePieces open_files(const std::string& path, const Json& lines) {
  FilePieces files;
  for (const Json& line : lines) add_file(path, line, open_pieces(path, line), files);
  return files;
}

// Whether the manifest has a checksum for each tensor. Earlier versions wrote only checksums of
// whole files, so their files must be read completely.
bool lists_pieces(const Json& lines) {
  return std::ranges::all_of(lines,
                             [](const Json& line) { return line.contains(kPieceChecksums); });
}

void check_names(const std::string& path, const SlicedTensors& found, const Json& named) {
  for (const auto& [name, tensor] : found)
    if (!named.contains(name))
      throw_damaged(
          path, str(kManifestFile, " does not list tensor '", name, "', which a file contains"));
  for (const auto& [name, line] : named.items())
    if (!found.contains(name)) throw_damaged(path, str("tensor '", name, "' is missing"));
}

enum class Bytes { read_now, on_demand };

SlicedCheckpoint read_checkpoint(const std::string& path, std::int64_t step,
                                 Bytes bytes = Bytes::read_now) try {
  const Json manifest = read_manifest(path);
  if (manifest.at("step") != step)
    throw_damaged(path, str("its manifest is for step ", manifest.at("step").dump()),
                  str("rename the directory to its original name, or remove it"));
  SlicedCheckpoint checkpoint{step, path, {}, manifest.at("state"), {}};
  const Json named = manifest.value("tensors", Json());
  const Json& lines = manifest.at("files");
  FilePieces files = bytes == Bytes::on_demand && lists_pieces(lines)
                         ? open_files(path, lines)
                         : read_files(path, lines, checkpoint);
  if (manifest.at("format") == kSlicedFormat) {
    checkpoint.tensors = sliced_tensors(path, named, std::move(files));
  } else {
    checkpoint.tensors = unsliced_tensors(files);
    if (!named.is_null()) check_names(path, checkpoint.tensors, named);
  }
  return checkpoint;
} catch (const JsonError& error) {
  throw_strange(path, error);
}

// Assembles sliced tensors. Whole tensors remain views of the same memory.
Checkpoint put_together(SlicedCheckpoint sliced) {
  Checkpoint out{
      sliced.step, std::move(sliced.path), {}, std::move(sliced.state), std::move(sliced.owners)};
  for (const auto& [name, tensor] : sliced.tensors) {
    const auto scratch = std::make_shared<Scratch>();
    out.tensors.emplace_hint(out.tensors.end(), name, whole(tensor, *scratch));
    if (!tensor.is_complete()) out.owners.push_back(scratch);
  }
  return out;
}

}  // namespace

Json checkpoint_state(const std::string& path) try {
  return read_manifest(path).at("state");
} catch (const JsonError& error) {
  throw_strange(path, error);
}

std::string committed_path(const std::string& model_dir, std::int64_t step) {
  const std::string path = checkpoint_path(model_dir, step);
  return io::exists(io::join_path(path, kCommitFile))
             ? path
             : checkpoint_path(model_dir, step, CheckpointNames::jestimator);
}

std::vector<std::int64_t> checkpoint_steps(const std::string& model_dir) {
  std::set<std::int64_t> steps;
  for (const std::string& name : io::list_folder(model_dir)) {
    const auto step = step_of(name);
    if (step && io::exists(io::join_path(io::join_path(model_dir, name), kCommitFile)))
      steps.insert(*step);
  }
  return {steps.begin(), steps.end()};
}

std::optional<std::int64_t> latest_checkpoint(const std::string& model_dir) {
  const auto steps = checkpoint_steps(model_dir);
  if (steps.empty()) return std::nullopt;
  return steps.back();
}

// `path` is the name of the checkpoint for error messages.
static SlicedCheckpoint load_step(const std::string& model_dir, std::int64_t step,
                                  const std::string& path, Bytes bytes = Bytes::read_now) {
  const auto steps = checkpoint_steps(model_dir);
  if (!std::binary_search(steps.begin(), steps.end(), step))
    throw UsageError(
        str("checkpoint: ", path, " does not exist",
            io::exists(path) ? " (it has no COMMIT marker: its save was interrupted)" : ""),
        steps.empty() ? str("there is no checkpoint in ", model_dir)
                      : str("choose one of the steps ", join(steps, ", ")));
  return read_checkpoint(committed_path(model_dir, step), step, bytes);
}

SlicedCheckpoint load_sliced_checkpoint(const std::string& model_dir, std::int64_t step) {
  return load_step(model_dir, step, checkpoint_path(model_dir, step));
}

SlicedCheckpoint open_sliced_checkpoint(const std::string& model_dir, std::int64_t step) {
  return load_step(model_dir, step, checkpoint_path(model_dir, step), Bytes::on_demand);
}

Checkpoint load_checkpoint(const std::string& model_dir, std::int64_t step) {
  return put_together(load_sliced_checkpoint(model_dir, step));
}

Checkpoint parameters_of(SlicedCheckpoint checkpoint) {
  const SlicedTensors& all = checkpoint.tensors;
  std::erase_if(checkpoint.tensors, [&](const auto& item) { return is_slot(item.first, all); });
  return put_together(std::move(checkpoint));
}

bool is_checkpoint_path(const std::string& path) {
  return step_of(io::path_name(path)).has_value();
}

SlicedCheckpoint load_sliced_checkpoint(const std::string& path) {
  const auto step = step_of(io::path_name(path));
  if (!step)
    throw UsageError(str("checkpoint: ", path, " is not named checkpoint_<step>"),
                     "give the directory of one checkpoint, such as <model_dir>/checkpoint-1000");
  const std::string folder = io::parent_path(path);
  return load_step(folder.empty() ? "." : folder, *step, path);
}

Checkpoint load_checkpoint(const std::string& path) {
  return put_together(load_sliced_checkpoint(path));
}

// Returns read(step) for the newest undamaged checkpoint before step `below`. Returns nullopt if
// there is no checkpoint, and throws DamagedCheckpoint if all are damaged.
template <class Read>
static auto newest_whole(const std::string& model_dir, const Read& read,
                         std::int64_t below = std::numeric_limits<std::int64_t>::max())
    -> std::optional<decltype(read(std::int64_t()))> {
  auto steps = checkpoint_steps(model_dir);
  std::erase_if(steps, [&](std::int64_t step) { return step >= below; });
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      return read(*step);
    } catch (const DamagedCheckpoint& error) {
      if (std::next(step) == steps.rend()) throw;
      log_warning("{}\n  going back to step {}", error.what(), *std::next(step));
    }
  }
  return std::nullopt;
}

std::optional<SlicedCheckpoint> load_latest_sliced_checkpoint(const std::string& model_dir) {
  return newest_whole(model_dir, [&](std::int64_t step) {
    return read_checkpoint(committed_path(model_dir, step), step);
  });
}

std::optional<Checkpoint> load_latest_checkpoint(const std::string& model_dir) {
  auto checkpoint = load_latest_sliced_checkpoint(model_dir);
  if (!checkpoint) return std::nullopt;
  return put_together(std::move(*checkpoint));
}

static SavedState saved_state(const std::string& path, std::int64_t step) try {
  const Json manifest = read_manifest(path);
  for (const Json& line : manifest.at("files"))
    check_size(path, line, io::file_size(member(path, line.at("name").get<std::string>())));
  return {step, path, manifest.at("state")};
} catch (const JsonError& error) {
  throw_strange(path, error);
}

std::optional<SavedState> load_latest_state(const std::string& model_dir, std::int64_t below) {
  return newest_whole(
      model_dir,
      [&](std::int64_t step) { return saved_state(committed_path(model_dir, step), step); }, below);
}

}  // namespace smelt::checkpoint
