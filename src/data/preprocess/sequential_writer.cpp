#include "data/preprocess/sequential_writer.h"

#include <algorithm>

namespace smelt::data {

InTurn::InTurn(std::size_t files, const ShuffleOptions& options)
    : sizes_(options.sizes),
      chunk_bytes_(std::clamp(options.buffers() / files, options.sizes.least_chunk,
                              options.sizes.most_chunk)),
      first_keys_(cut_keys(0, kLastKey, files)),
      file_(options.folder + "/examples-1") {
  begin_ranges();
}

void InTurn::begin_ranges() {
  std::vector<std::uint64_t> keys = first_keys_;
  for (std::uint64_t& key : keys) key += count_ / first_keys_.size();
  writer_ = std::make_unique<SpillWriter>(file_, keys, chunk_bytes_);
  bytes_ = 0;
}

void InTurn::end_ranges() { std::ranges::copy(writer_->finish(), std::back_inserter(ranges_)); }

void InTurn::append(std::string_view example) {
  const std::size_t files = first_keys_.size();
  if (count_ % files == 0 && bytes_ >= sizes_.range_bytes * files) {
    end_ranges();
    begin_ranges();
  }
  writer_->append(first_keys_[count_ % files] + count_ / files, example);
  bytes_ += kSpillRecordHead + example.size();
  ++count_;
}

ExternalShuffle InTurn::finish() {
  end_ranges();
  file_.close();
  std::ranges::sort(ranges_, {}, &SpillRange::first_key);
  return {file_.path(), std::move(ranges_)};
}

}  // namespace smelt::data
