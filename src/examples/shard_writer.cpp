#include "examples/shard_writer.h"

#include <algorithm>

#include "store/folder.h"

namespace smelt {

Shard::Shard(const std::string& path, std::size_t ranges)
    : path_(path), ranges_(ranges), whole_(exists(path)) {}

void Shard::write(const EncodedExamples& examples) {
  if (!file_) file_ = std::make_unique<OutputFile>(path_);
  file_->write(examples.bytes);
  index_.append(examples.index);
}

void Shard::leave(std::size_t range) {
  if (range + 1 == ranges_) {
    index_.write(path_);  // first: a whole file is one that is finished
    index_.clear();
    file_->commit();
    file_.reset();
  }
  turns_.leave(range);
}

ShardRange range_at(std::size_t place, std::size_t shards, std::size_t ranges_of_each,
                    std::size_t lanes) {
  const std::size_t first = place / (lanes * ranges_of_each) * lanes;
  const std::size_t side_by_side = std::min(lanes, shards - first);
  const std::size_t within = place - first * ranges_of_each;
  return {.shard = first + within % side_by_side, .range = within / side_by_side};
}

ShardWriter::ShardWriter(const std::vector<std::string>& paths, std::size_t ranges_of_each,
                         std::size_t lanes, std::uint64_t examples)
    : ranges_of_each_(ranges_of_each),
      lanes_(lanes),
      progress_("examples", static_cast<std::int64_t>(examples), "examples") {
  for (const std::string& path : paths) shards_.emplace_back(path, ranges_of_each);
}

ShardWriter::Turn ShardWriter::at(std::size_t place) {
  const auto [shard, range] = range_at(place, shards_.size(), ranges_of_each_, lanes_);
  return {&shards_[shard], range, shard * ranges_of_each_ + range};
}

void ShardWriter::count(std::size_t examples) {
  const std::lock_guard lock(mutex_);
  progress_.update(done_ += static_cast<std::int64_t>(examples));
}

void ShardWriter::stop() {
  for (Shard& shard : shards_) shard.stop();
}

}  // namespace smelt
