// The weights of a Hugging Face folder: model.safetensors, else the files listed in
// model.safetensors.index.json, else flax_model.msgpack. If the folder has a compress.json with
// checksums (docs/reference/formats/compressed.md), each tensor is checked when it is read.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/formats/lazy_tensor.h"

namespace smelt::checkpoint {

// The file that `smelt compress` adds to a folder of compressed weights.
inline constexpr const char* kCompressedFile = "compress.json";

// Returns the path of model.safetensors, its index or flax_model.msgpack: the first that exists, or
// model.safetensors if none does. Throws UsageError if the folder has only weights in an
// unsupported format, such as pytorch_model.bin.
std::string weights_path(const std::string& folder);
// Returns the paths of the files that contain the weights.
std::vector<std::string> weights_files(const std::string& folder);

// Opens the tensors under their stored names and types. Throws UsageError if they cannot be read;
// reading a tensor throws it if the checksum in compress.json differs.
io::LazyTensors stored_weights(const std::string& folder);

// Opens the tensors like stored_weights(), but decoded: int8 and int4 weights as f32, multiplied by
// their scales, and sparse weights with their zeros (sparse_weights.h). The tensors of the scales
// and bitmasks are left out. Supports compressed-tensors' formats "int-quantized" (one scale per
// row or per tensor), "pack-quantized" and "sparse-bitmask". Throws UsageError for another
// quantization or for missing or wrong scales. `config` is the folder's config.json.
io::LazyTensors plain_weights(const std::string& folder, const Json& config);

// Writes the tensors in files of at most `shard_bytes` bytes each; only a larger tensor exceeds
// that. Reads each tensor when it is written.
void write_weights(const io::OutputDirectory& directory, const io::LazyTensors& tensors,
                   std::uint64_t shard_bytes);

}  // namespace smelt::checkpoint
