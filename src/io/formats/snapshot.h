// The format of tf.data.Dataset.save (docs/reference/formats/snapshot.md): the metadata of a folder
// and the tensors in its records. Bytes only, no files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats/tfrecord.h"

namespace smelt::io {

inline constexpr std::string_view kSnapshotMetadata = "snapshot.metadata";  // file of the folder
constexpr std::int64_t kSnapshotVersion = 2;

// tensorflow.DataType of the integers.
enum class SnapshotType : std::uint8_t {
  int32 = 3,
  uint8 = 4,
  int16 = 5,
  int8 = 6,
  int64 = 9,
  uint16 = 17,
  uint32 = 22,
  uint64 = 23
};

struct SnapshotMetadata {
  std::string run;  // the folder that holds the shards
  SnapshotType type = SnapshotType::int64;
  std::optional<std::uint64_t> elements;  // as TensorFlow counted them
};

// UsageError beginning with `where` for what is malformed, of another version, not finished, or of
// elements that are not one tensor of integers.
SnapshotMetadata parse_snapshot_metadata(std::string_view bytes, std::string_view where);

// UsageError naming the packing when a file that begins with `head` is packed as TensorFlow does,
// but not by GZIP: SNAPPY or ZLIB. At least 12 bytes tell.
void check_snapshot_packing(std::string_view head, std::string_view file);

// Records' tensors as token ids; faster for a run of tensors of the same shape.
class TokenTensors {
 public:
  explicit TokenTensors(SnapshotType type) : type_(type) {}

  // Appends the numbers of one serialized TensorProto: a scalar or a list. UsageError naming the
  // place for what is malformed, of another type or rank, or no token id: negative, 2^31 or more.
  void append(std::string_view message, const RecordPlace& place, std::vector<std::int32_t>& ids);
  // Whether the last one was a scalar.
  bool scalar() const { return scalar_; }

 private:
  std::string_view content_of(std::string_view message, const RecordPlace& place);

  SnapshotType type_;
  bool scalar_ = false;
  std::string before_;    // a message's bytes before its numbers, which end it; empty: not known
  std::size_t size_ = 0;  // of that message
};

}  // namespace smelt::io
