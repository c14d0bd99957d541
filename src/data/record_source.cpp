#include "data/record_source.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/philox.h"
#include "data/put_record.h"

namespace smelt {

RecordSource::RecordSource(RecordOptions options)
    : ExampleSource(std::move(options.features)),
      index_(record_files(options.input, "training data")),
      order_(index_.size(), block_of_records(index_), random_key(options.seed, "records")),
      blocks_(index_, block_of_records(index_), kKeptBlocks) {
  run_each(index_.files().size(), kSideBySide, [&](std::size_t file) {
    const std::uint64_t first = index_.first_of(file);
    if (first == index_.first_of(file + 1)) return;
    Batch ignored = empty_batch(features(), 1);
    put_record(index_.read(first), index_, first, features(), ignored, 0);
  });
}

std::optional<DataDescription> RecordSource::description() const {
  auto found = find_description(files());
  if (found && found->files.size() != files().size()) return std::nullopt;
  return found;
}

void RecordSource::put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const {
  std::vector<std::uint64_t> records(positions.begin(), positions.end());
  std::ranges::transform(records, records.begin(), order_);
  blocks_.read(records, [&](std::string_view data, std::size_t row) {
    put_record(data, index_, records[row], features(), batch, row);
  });
}

void RecordSource::put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                                std::size_t row) const {
  std::string buffer;
  index_.read(first, count, buffer, [&](std::uint64_t record, std::string_view data) {
    put_record(data, index_, record, features(), batch, row++);
  });
}

}  // namespace smelt
