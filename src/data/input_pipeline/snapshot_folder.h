// Reads folders written by tf.data.Dataset.save (docs/reference/formats/snapshot.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/formats/snapshot.h"

namespace smelt::data {

struct SnapshotFolder {
  std::string path;
  io::SnapshotMetadata metadata;
  std::vector<std::vector<std::string>> shards;  // files of each shard, in order
};

// Lists the files of a snapshot. Throws UsageError in the same cases as parse_snapshot_metadata(),
// and if the metadata counts elements but the folder has no shards.
SnapshotFolder open_snapshot(const std::string& path);

// Reads all elements in the order in which they were saved. TensorFlow distributes elements
// round-robin over the shards, so one is read from each shard in turn, skipping shards that have
// ended. If the snapshot was saved with a custom shard function, elements keep their order only
// within each shard; the overall order is that of tf.data.Dataset.load on a machine with one core
// per shard.
class SnapshotReader {
 public:
  explicit SnapshotReader(SnapshotFolder folder);
  ~SnapshotReader();

  // Appends the next element's ids; returns false at the end. Throws UsageError with the file and
  // the decompressed offset if data is damaged, truncated or not tokens, if scalars and lists are
  // mixed, or if the number of elements differs from what was saved.
  bool next(std::vector<std::int32_t>& ids);
  // Returns whether next() read a scalar.
  bool scalar() const { return scalar_; }
  const SnapshotFolder& folder() const { return folder_; }

 private:
  class Shard;
  void check_rank(const Shard& shard);  // throws if scalars and lists are mixed
  void check_count() const;

  SnapshotFolder folder_;
  std::vector<std::unique_ptr<Shard>> shards_;  // shards that have not ended
  std::size_t turn_ = 0;
  std::uint64_t elements_ = 0;
  bool scalar_ = false;
};

}  // namespace smelt::data
