// Checkpoints of a training run. A checkpoint is a directory <model_dir>/checkpoint-<step>/ of
// safetensors files, a manifest and a COMMIT marker, which is written last: a directory without the
// marker does not count as a checkpoint. Only one process at a time may save into a model_dir; any
// number may read. Format: docs/reference/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/storage/slices.h"
#include "io/formats/safetensors.h"

namespace smelt::checkpoint {

// How a checkpoint directory is named: checkpoint-<step>, or checkpoint_<step> as in JEstimator.
// Both are read.
enum class CheckpointNames { smelt, jestimator };

struct SaveOptions {
  int max_to_keep = 5;  // number of newest checkpoints to keep; 0 keeps all
  // a file is closed before it would exceed this size
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;
  CheckpointNames names = CheckpointNames::smelt;
  std::optional<std::int64_t> spare = {};  // a step that is never deleted, whatever its age
  // Called before each removal and before the COMMIT marker is written. Throws to abort the save if
  // another process has taken over the folder.
  std::function<void()> require_held = [] {};
};

// Saves a checkpoint atomically: writes it to a temporary directory, flushes it to disk and renames
// it, then deletes the oldest checkpoints beyond max_to_keep. `state` is everything besides tensors
// that a resumed run needs. Replaces an earlier checkpoint of the same step; one complete copy of
// that step exists at every instant. Keeps checkpoints of later steps. Removes leftovers of
// interrupted saves. Throws SystemError if the disk is full; older checkpoints are then unchanged
// and the partial one is removed.
void save_checkpoint(const std::string& model_dir, std::int64_t step, const io::TensorMap& tensors,
                     const Json& state, const SaveOptions& options = {});
// Saves a state that is sharded over devices. Writes each slice as given, without assembling
// tensors. If every tensor is whole, the files are identical to those of save_checkpoint().
void save_sliced_checkpoint(const std::string& model_dir, std::int64_t step,
                            const SlicedTensors& tensors, const Json& state,
                            const SaveOptions& options = {});

// Copies a committed checkpoint to another folder, with the same atomicity as save_checkpoint().
// Shares the files between the two where the filesystem can (share_file() in io/filesystem/file.h).
void keep_checkpoint(const std::string& model_dir, std::int64_t step, const std::string& folder,
                     const SaveOptions& options = {});

// Deletes what a save of checkpoint `step` would delete: the leftovers of interrupted saves and
// removals, and the oldest checkpoints up to `step` beyond max_to_keep. A run that resumes at its
// last step must call this, because it does not save again. The caller must hold the folder's lock.
void finish_removals(const std::string& model_dir, std::int64_t step, const SaveOptions& options);

// Deletes the checkpoint directory `path`. Deletes the COMMIT marker first, so that an interrupted
// removal cannot leave an incomplete checkpoint that counts as committed.
void remove_checkpoint(const std::string& path);

// Returns the steps of the committed checkpoints, ascending; empty if model_dir does not exist.
std::vector<std::int64_t> checkpoint_steps(const std::string& model_dir);
// Returns the largest committed step, or nullopt if there is no checkpoint.
std::optional<std::int64_t> latest_checkpoint(const std::string& model_dir);

// Key in `state` of the vocabulary file's checksum.
inline constexpr const char* kVocabularyCrc32c = "vocabulary_crc32c";

// The error for a checkpoint whose files differ from what was saved. An older checkpoint may still
// be intact.
class DamagedCheckpoint : public UsageError {
  using UsageError::UsageError;
};

struct Checkpoint {
  std::int64_t step = 0;
  std::string path;
  io::TensorMap tensors;
  Json state;
  std::vector<std::shared_ptr<const void>> owners;  // keep the memory behind `tensors` alive
};

// A checkpoint whose tensors are still in the slices in which they were saved.
struct SlicedCheckpoint {
  std::int64_t step = 0;
  std::string path;
  SlicedTensors tensors;
  Json state;
  std::vector<std::shared_ptr<const void>> owners;
};

// Returns the `state` of the committed checkpoint at `path` without reading tensors. Throws
// DamagedCheckpoint if its manifest is missing or does not match the checksum in COMMIT, and
// UsageError if its format is unknown.
Json checkpoint_state(const std::string& path);

// Returns the path of a committed step under either naming scheme.
std::string committed_path(const std::string& model_dir, std::int64_t step);

// Loads a committed checkpoint. Checks the checksum of every file and that the slices cover their
// tensors. load_checkpoint() assembles sliced tensors in memory; all other tensors stay
// memory-mapped if the file is local. Throws DamagedCheckpoint if a check fails, and UsageError,
// whose hint lists the existing steps, if there is no such checkpoint.
Checkpoint load_checkpoint(const std::string& model_dir, std::int64_t step);
SlicedCheckpoint load_sliced_checkpoint(const std::string& model_dir, std::int64_t step);
// Opens a checkpoint without reading its tensors, for a process whose devices hold only some of the
// slices. A slice is read and checked against its own checksum when it is copied; DamagedCheckpoint
// is thrown then. Checkpoints of earlier versions have no checksums per slice, so all of their
// files are read at once.
SlicedCheckpoint open_sliced_checkpoint(const std::string& model_dir, std::int64_t step);
// Returns the parameters without optimizer slots and moving averages. Assembles sliced tensors in
// memory.
Checkpoint parameters_of(SlicedCheckpoint checkpoint);
// Loads the checkpoint at a path such as "<model_dir>/checkpoint_<step>". Also throws UsageError if
// the path is not named like a checkpoint.
Checkpoint load_checkpoint(const std::string& path);
SlicedCheckpoint load_sliced_checkpoint(const std::string& path);
// Whether the last component of `path` is a checkpoint name.
bool is_checkpoint_path(const std::string& path);

// Loads the newest intact checkpoint. Skips damaged ones with a logged warning; the run then
// repeats the steps since the older one, with the same result. Returns nullopt if there is no
// checkpoint. Throws DamagedCheckpoint if all of them are damaged.
std::optional<Checkpoint> load_latest_checkpoint(const std::string& model_dir);
std::optional<SlicedCheckpoint> load_latest_sliced_checkpoint(const std::string& model_dir);

// The state of a checkpoint without its tensors.
struct SavedState {
  std::int64_t step = 0;
  std::string path;
  Json state;
};
// Returns the state of the newest checkpoint before step `below`, or nullopt. Checks only the
// manifest and the file sizes, not the tensors, whose bytes may still be damaged.
std::optional<SavedState> load_latest_state(
    const std::string& model_dir, std::int64_t below = std::numeric_limits<std::int64_t>::max());

}  // namespace smelt::checkpoint
