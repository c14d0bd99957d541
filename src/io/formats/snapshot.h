// The format of tf.data.Dataset.save (docs/reference/formats/snapshot.md): the metadata of a folder
// and the tensors in its records. Works on bytes and does not access files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats/tfrecord.h"

namespace smelt::io {

inline constexpr std::string_view kSnapshotMetadata =
    "snapshot.metadata";  // the metadata file in the folder
constexpr std::int64_t kSnapshotVersion = 2;

// Element types of the integers, as numbered by tensorflow.DataType.
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
  std::string run;  // name of the folder that contains the shards
  SnapshotType type = SnapshotType::int64;
  std::optional<std::uint64_t> elements;  // number of elements, if TensorFlow stored it
};

// Parses the metadata. Throws UsageError, beginning with `where`, if it is malformed, has another
// version, belongs to an incomplete snapshot, or has elements that are not a single tensor of
// integers.
SnapshotMetadata parse_snapshot_metadata(std::string_view bytes, std::string_view where);

// Throws UsageError that names the compression if a file that begins with `head` is compressed with
// SNAPPY or ZLIB, which smelt does not support. `head` must have at least 12 bytes.
void check_snapshot_packing(std::string_view head, std::string_view file);

// Decodes the tensors in records to token ids. Faster for consecutive tensors of the same shape.
class TokenTensors {
 public:
  explicit TokenTensors(SnapshotType type) : type_(type) {}

  // Appends the numbers of one serialized TensorProto, a scalar or a list. Throws UsageError that
  // names the place if it is malformed, has another type or rank, or contains a number that is
  // negative or not less than 2^31.
  void append(std::string_view message, const RecordPlace& place, std::vector<std::int32_t>& ids);
  // Returns whether the last tensor was a scalar.
  bool scalar() const { return scalar_; }

 private:
  std::string_view content_of(std::string_view message, const RecordPlace& place);

  SnapshotType type_;
  bool scalar_ = false;
  // The bytes that precede the numbers in the last message. A message of the same size that begins
  // with them is decoded without parsing. Empty: unknown.
  std::string before_;
  std::size_t size_ = 0;  // size of the last message
};

}  // namespace smelt::io
