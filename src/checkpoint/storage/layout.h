// Names and texts of a checkpoint directory, shared by its writer and its reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/storage/checkpoint.h"

namespace smelt {

constexpr std::string_view kManifestFile = "manifest.json";
constexpr std::string_view kCommitFile = "COMMIT";
constexpr std::string_view kManifestFormat = "smelt checkpoint 1";
// Of one with a tensor in several slices.
constexpr std::string_view kSlicedFormat = "smelt checkpoint 2";
// Written or read: an object store serves each at its own pace.
constexpr int kFilesAtOnce = 4;

// "<model_dir>/checkpoint-<step>", or JEstimator's "<model_dir>/checkpoint_<step>".
std::string checkpoint_path(const std::string& model_dir, std::int64_t step,
                            CheckpointNames names = CheckpointNames::smelt);

// The step of a directory named exactly so, either way.
std::optional<std::int64_t> step_of(std::string_view directory_name);

// Gives a whole checkpoint its name back that a kill has left without, while it took the place of
// one of its step: as "<name>.new", or the earlier one as "<name>.replaced". For who alone writes
// in the folder; on an object store there are none.
void take_back_checkpoints(const std::string& model_dir);

// Removes what killed saves and removals have left in the folder: unfinished checkpoints and their
// parts. For the process that holds the folder's lock.
void remove_remains(const std::string& model_dir);

// "tensors-00000-of-00002.safetensors"
std::string shard_name(std::size_t index, std::size_t count);

// The content of COMMIT: the checksum of the manifest, which holds those of all the other files.
std::string commit_text(std::string_view manifest);

// As a manifest has it.
std::string checksum_text(std::span<const std::byte> bytes);
// In a file's line: those of its tensors, by name.
constexpr const char* kPieceChecksums = "pieces_crc32c";

// Of the checkpoint at this path.
[[noreturn]] void throw_damaged(
    const std::string& path, const std::string& what,
    const std::string& hint =
        "restore this directory from a copy, or remove it to go on from an older one");

}  // namespace smelt
