// File names and formats of a checkpoint directory, shared by its writer and its reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/storage/checkpoint.h"

namespace smelt::checkpoint {

constexpr std::string_view kManifestFile = "manifest.json";
constexpr std::string_view kCommitFile = "COMMIT";
constexpr std::string_view kManifestFormat = "smelt checkpoint 1";
// The format of a checkpoint with at least one tensor in several slices.
constexpr std::string_view kSlicedFormat = "smelt checkpoint 2";
// Number of files to read or write in parallel; an object store limits the throughput of each.
constexpr int kFilesAtOnce = 4;

// Returns "<model_dir>/checkpoint-<step>", or JEstimator's "<model_dir>/checkpoint_<step>".
std::string checkpoint_path(const std::string& model_dir, std::int64_t step,
                            CheckpointNames names = CheckpointNames::smelt);

// Returns the step if `directory_name` is exactly a checkpoint name of either scheme.
std::optional<std::int64_t> step_of(std::string_view directory_name);

// Recovers complete checkpoints from an interrupted replacement: renames "<name>.new", or else
// "<name>.replaced", back to "<name>" if that does not exist. The caller must be the only writer of
// the folder. Does nothing on an object store, which has no such directories.
void take_back_checkpoints(const std::string& model_dir);

// Removes the leftovers of interrupted saves and removals from the folder. The caller must hold the
// folder's lock.
void remove_remains(const std::string& model_dir);

// Returns a file name such as "tensors-00000-of-00002.safetensors".
std::string shard_name(std::size_t index, std::size_t count);

// Returns the content of COMMIT: the checksum of the manifest, which has the checksums of all other
// files.
std::string commit_text(std::string_view manifest);

// Returns the CRC32C of `bytes` as the manifest writes it.
std::string checksum_text(std::span<const std::byte> bytes);
// The field of each file's entry in the manifest that maps the names of the file's tensors or
// slices to their checksums.
constexpr const char* kPieceChecksums = "pieces_crc32c";

// Throws DamagedCheckpoint for the checkpoint at `path`.
[[noreturn]] void throw_damaged(
    const std::string& path, const std::string& what,
    const std::string& hint =
        "restore this directory from a copy, or remove it to resume from an older one");

}  // namespace smelt::checkpoint
