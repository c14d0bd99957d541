#include "data/preprocess/shard_writer.h"

#include <algorithm>

#include "base/json.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/crc32c.h"

namespace smelt::data {
namespace {

constexpr std::size_t kEndBytes = 64 << 10;  // first and last bytes of a file in its seal

std::string seal_text(std::uint64_t size, std::string_view first, std::string_view last) {
  return Json{{"size", size}, {"ends_crc32c", io::crc32c(last, io::crc32c(first))}}.dump();
}

}  // namespace

void ShardSeal::add(std::string_view bytes) {
  size_ += bytes.size();
  first_ += bytes.substr(0, kEndBytes - first_.size());
  last_ += bytes.substr(bytes.size() - std::min(bytes.size(), kEndBytes));
  last_.erase(0, last_.size() - std::min(last_.size(), kEndBytes));
}

std::string ShardSeal::text() const { return seal_text(size_, first_, last_); }

Shard::Shard(Paths paths, std::size_t ranges, bool made)
    : paths_(std::move(paths)), ranges_(ranges), made_(made) {}

void Shard::write(const EncodedExamples& examples) {
  if (!file_) file_ = std::make_unique<io::OutputFile>(paths_.records);
  file_->write(examples.bytes);
  seal_.add(examples.bytes);
  index_.append(examples.index);
}

void Shard::leave(std::size_t range) {
  if (range + 1 == ranges_) finish();
  turns_.leave(range);
}

void Shard::finish() {
  file_->flush();
  paths_.before();
  // The index is written before the records become visible, because their presence means that both
  // are complete.
  if (paths_.index) index_.write(paths_.records);
  index_.clear();
  io::write_file(paths_.seal, seal_.text());
  file_->commit();
  file_.reset();
}

bool is_sealed(const std::string& records, const std::string& seal) {
  if (!io::exists(seal) || !io::exists(records) || is_device(records)) return false;
  const std::string wanted = io::read_file(seal, io::kSmallFileBytes);
  const io::RandomAccessFile file(records);
  const std::uint64_t end = std::min<std::uint64_t>(file.size(), kEndBytes);
  std::string first(end, '\0'), last(end, '\0');
  first.resize(file.read_at(0, first));
  last.resize(file.read_at(file.size() - end, last));
  return seal_text(file.size(), first, last) == wanted;
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

}  // namespace smelt::data
