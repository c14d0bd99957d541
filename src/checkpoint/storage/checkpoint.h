// Checkpoints of a training run: <model_dir>/checkpoint-<step>/, directories of safetensors files,
// a manifest and, last, a COMMIT marker; docs/reference/formats/checkpoint.md. Without the marker
// it does not exist. One process at a time may save into a model_dir; any number may read.
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

namespace smelt {

// checkpoint-<step>, or checkpoint_<step> as JEstimator calls them; read are both.
enum class CheckpointNames { smelt, jestimator };

struct SaveOptions {
  int max_to_keep = 5;                                   // the newest; 0 keeps all
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;  // a new file begins after this much data
  CheckpointNames names = CheckpointNames::smelt;
  std::optional<std::int64_t> spare = {};  // a step that stays however old it is
  // Called each time before something is removed and right before the marker is written. Throws,
  // which ends the save, if the folder is no longer this process's.
  std::function<void()> require_held = [] {};
};

// Writes the checkpoint beside its place, flushes it to the disk and renames it there; then removes
// the oldest ones beyond max_to_keep. `state` is whatever else a resumed run needs. An earlier
// checkpoint of the same step is replaced, and is whole somewhere at every instant; steps above
// `step` are left alone. Remains of killed saves are removed. SystemError on a full disk: nothing
// of it remains and the older checkpoints are untouched.
void save_checkpoint(const std::string& model_dir, std::int64_t step, const TensorMap& tensors,
                     const Json& state, const SaveOptions& options = {});
// The same of a state that lies split over devices: slices are written as they are given, and
// nothing is put together. Without a tensor in several slices the bytes are save_checkpoint()'s.
void save_sliced_checkpoint(const std::string& model_dir, std::int64_t step,
                            const SlicedTensors& tensors, const Json& state,
                            const SaveOptions& options = {});

// The committed checkpoint of a step once more in another folder, as save_checkpoint() would write
// it there: its files are shared with it, not written again (io/filesystem/file.h).
void keep_checkpoint(const std::string& model_dir, std::int64_t step, const std::string& folder,
                     const SaveOptions& options = {});

// By its own path. The marker goes first: a removal that is interrupted leaves no checkpoint with
// files missing.
void remove_checkpoint(const std::string& path);

// Steps of the committed checkpoints, ascending; none when model_dir does not exist.
std::vector<std::int64_t> checkpoint_steps(const std::string& model_dir);
std::optional<std::int64_t> latest_checkpoint(const std::string& model_dir);

// In `state`: the checksum of the vocabulary's file.
inline constexpr const char* kVocabularyCrc32c = "vocabulary_crc32c";

// The bytes are not those that were saved: an older checkpoint may still be whole.
class DamagedCheckpoint : public UsageError {
  using UsageError::UsageError;
};

struct Checkpoint {
  std::int64_t step = 0;
  std::string path;
  TensorMap tensors;
  Json state;
  std::vector<std::shared_ptr<const void>> owners;  // of what the tensors view
};

// As it was saved.
struct SlicedCheckpoint {
  std::int64_t step = 0;
  std::string path;
  SlicedTensors tensors;
  Json state;
  std::vector<std::shared_ptr<const void>> owners;
};

// The `state` of a committed checkpoint, by its own path, without the tensors. DamagedCheckpoint.
Json checkpoint_state(const std::string& path);

// Where a committed step lies, whichever way it is named.
std::string committed_path(const std::string& model_dir, std::int64_t step);

// Every byte is checked against its checksum, and that slices cover their tensors. What lies in
// slices is put together in memory; what is whole, and all of a SlicedCheckpoint, stays where it
// is, for a local file is mapped. UsageError when there is no such checkpoint (naming those that
// exist), DamagedCheckpoint.
Checkpoint load_checkpoint(const std::string& model_dir, std::int64_t step);
SlicedCheckpoint load_sliced_checkpoint(const std::string& model_dir, std::int64_t step);
// The same without reading a tensor: a slice is read, and checked against its own checksum, when a
// part of it is put somewhere; DamagedCheckpoint then. For one of several processes, whose devices
// want some of it. Of a checkpoint of an earlier version, which has no such checksums, all is read.
SlicedCheckpoint open_sliced_checkpoint(const std::string& model_dir, std::int64_t step);
// The parameters alone, without slots and averages: what lies in slices is put together in memory.
Checkpoint parameters_of(SlicedCheckpoint checkpoint);
// By its own path, "<model_dir>/checkpoint_<step>". UsageError, too, for a path of another name.
Checkpoint load_checkpoint(const std::string& path);
SlicedCheckpoint load_sliced_checkpoint(const std::string& path);
// Whether the path has the name of a checkpoint.
bool is_checkpoint_path(const std::string& path);

// The newest checkpoint that is whole; a damaged one is passed over with a logged warning (the run
// then repeats the steps in between, with the same result). nullopt when there is none; UsageError
// when there are some and all are damaged.
std::optional<Checkpoint> load_latest_checkpoint(const std::string& model_dir);
std::optional<SlicedCheckpoint> load_latest_sliced_checkpoint(const std::string& model_dir);

struct SavedState {
  std::int64_t step = 0;
  std::string path;
  Json state;
};
// The same by the manifests and the sizes of the files, of the steps below one: no tensor is read,
// so that one may still be damaged.
std::optional<SavedState> load_latest_state(
    const std::string& model_dir, std::int64_t below = std::numeric_limits<std::int64_t>::max());

}  // namespace smelt
