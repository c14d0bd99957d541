#include "examples/shard_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format/crc32c.h"
#include "store/folder.h"

namespace smelt {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;

std::string seal_text(std::uint64_t size, std::uint32_t crc) {
  return nlohmann::json{{"size", size}, {"crc32c", crc}}.dump();
}

}  // namespace

Shard::Shard(Paths paths, std::size_t ranges, bool made)
    : paths_(std::move(paths)), ranges_(ranges), made_(made) {}

void Shard::write(const EncodedExamples& examples) {
  if (!file_) file_ = std::make_unique<OutputFile>(paths_.records);
  file_->write(examples.bytes);
  size_ += examples.bytes.size();
  crc32c_ = crc32c(examples.bytes, crc32c_);
  index_.append(examples.index);
}

void Shard::leave(std::size_t range) {
  if (range + 1 == ranges_) finish();
  turns_.leave(range);
}

void Shard::finish() {
  file_->flush();
  paths_.before();
  if (paths_.index) index_.write(paths_.records);  // first: a sealed file is one that is finished
  index_.clear();
  write_file(paths_.seal, seal_text(size_, crc32c_));
  file_->commit();
  file_.reset();
}

bool is_sealed(const std::string& records, const std::string& seal) {
  if (!exists(seal) || !exists(records) || is_device(records)) return false;
  const std::string wanted = read_file(seal, kSmallFileBytes);
  InputFile file(records);
  std::string block(kBlockBytes, '\0');
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  while (const std::size_t count = file.read(block)) {
    crc = crc32c(std::string_view(block).substr(0, count), crc);
    size += count;
  }
  return seal_text(size, crc) == wanted;
}

std::vector<ShardRange> writing_order(const std::vector<std::size_t>& ranges_of_each,
                                      std::size_t lanes) {
  std::vector<ShardRange> order;
  for (std::size_t first = 0; first < ranges_of_each.size(); first += lanes) {
    const std::size_t last = std::min(first + lanes, ranges_of_each.size());
    const std::size_t most = *std::max_element(ranges_of_each.begin() + static_cast<long>(first),
                                               ranges_of_each.begin() + static_cast<long>(last));
    for (std::size_t range = 0; range < most; ++range)
      for (std::size_t shard = first; shard < last; ++shard)
        if (range < ranges_of_each[shard]) order.push_back({shard, range});
  }
  return order;
}

}  // namespace smelt
