// The weights of a Hugging Face folder: model.safetensors, else the files that
// model.safetensors.index.json names, else flax_model.msgpack. Where
// compress.json lies beside them and holds their checksums (docs/reference/formats/compressed.md),
// a tensor that is read is held to its own.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/formats/lazy_tensor.h"

namespace smelt {

// Beside the weights of a folder that `smelt compress` has made.
inline constexpr const char* kCompressedFile = "compress.json";

// Returns the path of the one file, of the index, or of Flax's. Throws UsageError if the folder has
// only weights in a form that is not read, such as pytorch_model.bin.
std::string weights_path(const std::string& folder);
// The files of weights.
std::vector<std::string> weights_files(const std::string& folder);

// By the files' own names and as their types are. UsageError for what cannot be read; on reading,
// for a tensor that is not the one that compress.json speaks of.
LazyTensors stored_weights(const std::string& folder);

// The same with what is held in eight bits (io/formats/int8_rows.h) as f32, without the scales, and
// with zeros where they are not stored (sparse_weights.h). Of compressed-tensors' formats
// "int-quantized" is read, of weights alone, with a scale for each row or one for the whole.
// UsageError for a folder that is quantized in another way, and for codes
// without fitting scales. `config` is the folder's config.json.
LazyTensors plain_weights(const std::string& folder, const Json& config);

// In files of at most so many bytes each, but for a tensor that has more. A tensor is read when it
// is due.
void write_weights(const OutputDirectory& directory, const LazyTensors& tensors,
                   std::uint64_t shard_bytes);

}  // namespace smelt
