#include "data/input_pipeline/example_source.h"

#include <algorithm>

#include "base/error.h"
#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/record_order.h"
#include "data/input_pipeline/record_source.h"
#include "data/input_pipeline/window_source.h"

namespace smelt::data {
namespace {

void check_batch(std::int64_t batch_size) {
  if (batch_size < 1)
    throw UsageError(str("batch size ", batch_size, ": must be at least 1"),
                     "use a larger batch size");
}

// The rows [begin, end) of a batch that belong to a host.
struct Rows {
  std::uint64_t begin = 0, end = 0;
};

Rows rows_of(std::int64_t batch_size, HostShare share) {
  check_batch(batch_size);
  CHECK(share.host >= 0 && share.host < share.hosts, share.host, " of ", share.hosts);
  if (batch_size % share.hosts != 0)
    throw UsageError(
        str("a batch of ", batch_size, " examples does not divide over ", share.hosts, " hosts"),
        "use a batch size that is a multiple of the number of hosts");
  const auto count = static_cast<std::uint64_t>(batch_size / share.hosts);
  const std::uint64_t begin = static_cast<std::uint64_t>(share.host) * count;
  return {begin, begin + count};
}

}  // namespace

Batch ExampleSource::batch(std::uint64_t step, std::int64_t batch_size, HostShare share) const {
  const Rows rows = rows_of(batch_size, share);
  Batch batch = empty_batch(features_, batch_size / share.hosts);
  const auto size = static_cast<std::uint64_t>(batch_size);
  if (!groups_) {
    put_shuffled(positions_of_rows(step, size, rows.begin, rows.end), batch);
    return batch;
  }
  const auto all = positions_by_length(step, size, epoch_size(), *groups_,
                                       [&](std::uint64_t position) { return tokens_at(position); });
  put_shuffled(std::span(all).subspan(rows.begin, rows.end - rows.begin), batch);
  return cut_to_tokens(batch, features_, *groups_);
}

Batch ExampleSource::batch_in_order(std::uint64_t step, std::int64_t batch_size,
                                    HostShare share) const {
  const Rows rows = rows_of(batch_size, share);
  Batch batch = empty_batch(features_, batch_size / share.hosts);
  const std::uint64_t before = step * static_cast<std::uint64_t>(batch_size);
  std::size_t row = 0;
  for (std::uint64_t position = before + rows.begin; position < before + rows.end;) {
    const std::uint64_t first = position % size(),
                        count = std::min(before + rows.end - position, size() - first);
    put_in_order(first, count, batch, row);
    row += count;
    position += count;
  }
  return batch;
}

Batch ExampleSource::examples_in_order(std::uint64_t first, std::uint64_t count) const {
  CHECK(first + count <= size(), first, " + ", count, " of ", size());
  Batch batch = empty_batch(features_, static_cast<std::int64_t>(count));
  put_in_order(first, count, batch, 0);
  return batch;
}

std::uint64_t ExampleSource::full_batches(std::int64_t batch_size) const {
  check_batch(batch_size);
  return size() / static_cast<std::uint64_t>(batch_size);
}

std::unique_ptr<ExampleSource> open_examples(const RecordOptions& options) {
  const std::vector<std::string> paths = data_paths(options.input, "training data");
  if (holds_tokens(paths.front())) return std::make_unique<WindowSource>(options, paths);
  return std::make_unique<RecordSource>(options);
}

}  // namespace smelt::data
