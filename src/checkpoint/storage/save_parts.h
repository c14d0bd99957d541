// What the ways of saving a checkpoint have in common; for this room alone.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/slice_lines.h"
#include "io/filesystem/file.h"

namespace smelt {

// Writes one file of tensors and gives its line of the manifest.
Json write_shard(const std::string& path, const std::string& name, const TensorMap& tensors);

// The manifest and, last, the marker. `lines` are of the files, in their order; `tensors` may be
// without their values.
void write_manifest(const OutputDirectory& directory, std::int64_t step,
                    const SlicedTensors& tensors, Json lines, const PieceFiles& files,
                    const Json& state, const SaveOptions& options);

// Clears up, gives `write` a directory, puts that in its place and removes the oldest, as
// save_checkpoint says.
void publish_checkpoint(const std::string& model_dir, std::int64_t step, const SaveOptions& options,
                        const std::function<void(const OutputDirectory&)>& write);

}  // namespace smelt
