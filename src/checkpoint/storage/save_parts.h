// Steps shared by the functions that save checkpoints. Internal to this submodule.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/slice_lines.h"
#include "io/filesystem/file.h"

namespace smelt::checkpoint {

// Writes one safetensors file. Returns its entry for the manifest.
Json write_shard(const std::string& path, const std::string& name, const io::TensorMap& tensors);

// Writes the manifest and then the COMMIT marker. `lines` are the entries of the files in order.
// Only the shapes of `tensors` are used, so their values may be empty.
void write_manifest(const io::OutputDirectory& directory, std::int64_t step,
                    const SlicedTensors& tensors, Json lines, const PieceFiles& files,
                    const Json& state, const SaveOptions& options);

// Publishes a checkpoint as save_checkpoint() describes: removes leftovers, calls `write` with a
// temporary directory, renames that to its final name and deletes the oldest checkpoints.
void publish_checkpoint(const std::string& model_dir, std::int64_t step, const SaveOptions& options,
                        const std::function<void(const io::OutputDirectory&)>& write);

}  // namespace smelt::checkpoint
