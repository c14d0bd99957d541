// Folders that tf.data.Dataset.save wrote (docs/reference/formats/snapshot.md): what is in them,
// and their tokens one after another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/formats/snapshot.h"

namespace smelt {

struct SnapshotFolder {
  std::string path;
  SnapshotMetadata metadata;
  std::vector<std::vector<std::string>> shards;  // each shard's files, in order
};

// UsageError as of parse_snapshot_metadata, or for a run that is not there.
SnapshotFolder open_snapshot(const std::string& path);

// Reads all elements in the order in which they were saved: TensorFlow deals them out over the
// shards in turn, and so they are taken, a shard that has ended being passed over. A function of
// the user's own that chose the shards is not known here: within each shard the order is right
// then, and all of it is that of tf.data.Dataset.load on a machine with a core for each shard.
class SnapshotReader {
 public:
  explicit SnapshotReader(SnapshotFolder folder);
  ~SnapshotReader();

  // Appends the next element's ids; false at the end. UsageError naming file and offset (of what is
  // unpacked) for what is damaged, cut short or no tokens, for a list among scalars or a scalar
  // among lists, or when the elements are not as many as were saved.
  bool next(std::vector<std::int32_t>& ids);
  // Whether next() gave a scalar.
  bool scalar() const { return scalar_; }
  const SnapshotFolder& folder() const { return folder_; }

 private:
  class Shard;
  void check_rank(const Shard& shard);  // that of the element before
  void check_count() const;

  SnapshotFolder folder_;
  std::vector<std::unique_ptr<Shard>> shards_;  // that have not ended
  std::size_t turn_ = 0;
  std::uint64_t elements_ = 0;
  bool scalar_ = false;
};

}  // namespace smelt
