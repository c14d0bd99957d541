#include "data/record_source.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "data/put_record.h"

namespace smelt {
namespace {

// Batches are read ahead, some of them of the next group.
constexpr std::size_t kKeptBlocks = 2 * kMixedBlocks + 8;

void check_batch(std::int64_t batch_size) {
  if (batch_size < 1)
    throw UsageError(str("a batch of ", batch_size, " examples"), "take at least 1");
}

// A host's rows [begin, end) of a batch.
struct Rows {
  std::uint64_t begin = 0, end = 0;
};

Rows rows_of(std::int64_t batch_size, HostShare share) {
  check_batch(batch_size);
  CHECK(share.host >= 0 && share.host < share.hosts, share.host, " of ", share.hosts);
  if (batch_size % share.hosts != 0)
    throw UsageError(str("a batch of ", batch_size, " examples for ", share.hosts, " hosts"),
                     "take a batch size that is a multiple of the number of hosts");
  const auto count = static_cast<std::uint64_t>(batch_size / share.hosts);
  const std::uint64_t begin = static_cast<std::uint64_t>(share.host) * count;
  return {begin, begin + count};
}

}  // namespace

RecordSource::RecordSource(RecordOptions options)
    : options_(std::move(options)),
      index_(record_files(options_.input, "training data")),
      order_(index_.size(), block_of_records(index_), random_key(options_.seed, "records")),
      blocks_(index_, block_of_records(index_), kKeptBlocks) {
  run_each(index_.files().size(), kSideBySide, [&](std::size_t file) {
    const std::uint64_t first = index_.first_of(file);
    if (first == index_.first_of(file + 1)) return;
    Batch ignored = empty_batch(options_.features, 1);
    put_record(index_.read(first), index_, first, options_.features, ignored, 0);
  });
}

Batch RecordSource::batch(std::uint64_t step, std::int64_t batch_size, HostShare share) const {
  const Rows rows = rows_of(batch_size, share);
  Batch batch = empty_batch(options_.features, batch_size / share.hosts);
  std::vector<std::uint64_t> records =
      positions_of_rows(step, static_cast<std::uint64_t>(batch_size), rows.begin, rows.end);
  std::ranges::transform(records, records.begin(), order_);
  blocks_.read(records, [&](std::string_view data, std::size_t row) {
    put_record(data, index_, records[row], options_.features, batch, row);
  });
  return batch;
}

Batch RecordSource::batch_in_order(std::uint64_t step, std::int64_t batch_size,
                                   HostShare share) const {
  const Rows rows = rows_of(batch_size, share);
  Batch batch = empty_batch(options_.features, batch_size / share.hosts);
  const std::uint64_t before = step * static_cast<std::uint64_t>(batch_size);
  std::string buffer;
  std::size_t row = 0;
  for (std::uint64_t position = before + rows.begin; position < before + rows.end;) {
    const std::uint64_t first = position % size(),
                        count = std::min(before + rows.end - position, size() - first);
    index_.read(first, count, buffer, [&](std::uint64_t record, std::string_view data) {
      put_record(data, index_, record, options_.features, batch, row++);
    });
    position += count;
  }
  return batch;
}

std::uint64_t RecordSource::whole_batches(std::int64_t batch_size) const {
  check_batch(batch_size);
  return size() / static_cast<std::uint64_t>(batch_size);
}

}  // namespace smelt
