// The index of a TensorFlow checkpoint ("V2", a tensor bundle): its tensors and the positions of
// their bytes in the data files; docs/reference/formats/tensor_bundle.md. Works on bytes and does
// not access files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt::io {

// A slice of a tensor: for each dimension, where the slice begins and its length.
struct BundleSlice {
  struct Extent {
    std::int64_t start = 0;
    std::int64_t length = -1;  // -1: the whole dimension, from 0
    bool operator==(const Extent&) const = default;
  };
  std::vector<Extent> extents;
  bool operator==(const BundleSlice&) const = default;
};

struct BundleEntry {
  std::int64_t type = 0;  // tensorflow.DataType
  compiler::Dims dims = {};
  std::int64_t shard = 0;
  std::uint64_t offset = 0, size = 0;  // bytes in the shard
  std::uint32_t crc32c = 0;            // checksum of these bytes
  // The slices of a partitioned tensor, whose bytes are in BundleIndex::parts.
  std::vector<BundleSlice> slices = {};
};

using BundleEntries = std::map<std::string, BundleEntry, std::less<>>;

struct BundleIndex {
  std::int64_t shards = 1;
  BundleEntries tensors = {};  // by name
  BundleEntries parts = {};    // by bundle_part_key()
};

// Parses an index. Throws UsageError, in which `origin` names the file, if it is malformed, has
// another byte order or version, or is inconsistent: an unknown shard, a size that does not match
// the shape, or parts that do not cover their tensor.
BundleIndex parse_bundle_index(std::string_view bytes, std::string_view origin);
// Returns the index exactly as TensorFlow writes it.
std::string bundle_index_bytes(const BundleIndex& index);

std::string bundle_part_key(std::string_view tensor, const BundleSlice& slice);
// Returns the dimensions of a slice, which must fit `whole`.
compiler::Dims bundle_part_dims(const BundleSlice& slice, const compiler::Dims& whole);

// Suffixes that are appended to a checkpoint's name: ".index", ".data-00000-of-00002".
inline constexpr std::string_view kBundleIndexSuffix = ".index";
std::string bundle_shard_suffix(std::int64_t shard, std::int64_t shards);

}  // namespace smelt::io
