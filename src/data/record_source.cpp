#include "data/record_source.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/philox.h"
#include "data/record_index_file.h"
#include "format/tfrecord.h"

namespace smelt {
namespace {

// Batches are read ahead, some of them of the next group.
constexpr std::size_t kKeptBlocks = 2 * kGroupBlocks + 8;

// Rows [begin, end) of the endless list of rows.
struct Rows {
  std::uint64_t begin = 0, end = 0;
};

Rows rows_of(std::uint64_t step, std::int64_t batch_size, HostShare share) {
  CHECK(batch_size >= 1 && share.host >= 0 && share.host < share.hosts, batch_size);
  if (batch_size % share.hosts != 0)
    throw UsageError(str("a batch of ", batch_size, " examples for ", share.hosts, " hosts"),
                     "take a batch size that is a multiple of the number of hosts");
  const auto count = static_cast<std::uint64_t>(batch_size / share.hosts);
  const std::uint64_t begin = step * static_cast<std::uint64_t>(batch_size) +
                              static_cast<std::uint64_t>(share.host) * count;
  return {begin, begin + count};
}

std::uint32_t count_tokens(const BertBatch& batch, std::size_t row) {
  const auto length = static_cast<std::ptrdiff_t>(batch.seq_length);
  const auto first = batch.input_mask.begin() + static_cast<std::ptrdiff_t>(row) * length;
  return static_cast<std::uint32_t>(std::count(first, first + length, 1));
}

BertRecordOptions any_ids(const BertRecordShape& shape) {
  BertRecordOptions options;
  options.seq_length = shape.seq_length;
  options.max_predictions = shape.max_predictions;
  options.vocab_size = options.type_vocab_size = std::numeric_limits<std::int32_t>::max();
  return options;
}

}  // namespace

BertRecordSource::BertRecordSource(BertRecordOptions options)
    : options_(std::move(options)),
      index_(record_files(options_.input, "training data")),
      order_(index_.size(), block_of_records(index_), random_key(options_.seed, "records")),
      blocks_(index_, block_of_records(index_), kKeptBlocks) {
  const auto [seq_length, max_predictions] = bert_record_shape(index_);
  const auto check = [&](std::string_view name, std::int64_t found, std::int64_t wanted) {
    if (found != wanted)
      throw UsageError(str(index_.place(0), ": ", name, " is ", found, ", not ", wanted),
                       str("set ", name, " to ", found, ", or make the data again"));
  };
  check("seq_length", seq_length, options_.seq_length);
  check("max_predictions", max_predictions, options_.max_predictions);
  BertBatch ignored = empty_bert_batch(options_, 1);
  for (std::size_t file = 0; file < index_.files().size(); ++file) {
    const std::uint64_t first = index_.first_of(file);
    if (first < index_.first_of(file + 1))
      put_bert_record(index_.read(first), index_, first, options_, ignored, 0);
  }
}

BertBatch BertRecordSource::batch(std::uint64_t step, std::int64_t batch_size,
                                  HostShare share) const {
  const Rows rows = rows_of(step, batch_size, share);
  BertBatch batch = empty_bert_batch(options_, batch_size / share.hosts);
  std::vector<std::uint64_t> records;
  for (std::uint64_t position = rows.begin; position < rows.end; ++position)
    records.push_back(order_(position));
  blocks_.read(records, [&](std::string_view data, std::size_t row) {
    put_bert_record(data, index_, records[row], options_, batch, row);
  });
  return batch;
}

BertBatch BertRecordSource::batch_in_order(std::uint64_t step, std::int64_t batch_size,
                                           HostShare share) const {
  const Rows rows = rows_of(step, batch_size, share);
  BertBatch batch = empty_bert_batch(options_, batch_size / share.hosts);
  std::string buffer;
  std::size_t row = 0;
  for (std::uint64_t position = rows.begin; position < rows.end;) {
    const std::uint64_t first = position % size(),
                        count = std::min(rows.end - position, size() - first);
    index_.read(first, count, buffer, [&](std::uint64_t record, std::string_view data) {
      put_bert_record(data, index_, record, options_, batch, row++);
    });
    position += count;
  }
  return batch;
}

std::vector<std::uint32_t> BertRecordSource::lengths() const {
  std::vector<std::uint32_t> lengths(size());
  BertBatch one = empty_bert_batch(options_, 1);
  std::string buffer;
  const auto count = [&](std::uint64_t record, std::string_view data) {
    put_bert_record(data, index_, record, options_, one, 0);
    lengths[record] = count_tokens(one, 0);
  };
  for (std::size_t file = 0; file < index_.files().size(); ++file) {
    const std::uint64_t first = index_.first_of(file), last = index_.first_of(file + 1);
    if (first == last) continue;
    if (!index_.tokens(first))
      index_.read(first, last - first, buffer, count);
    else
      for (std::uint64_t record = first; record < last; ++record)
        lengths[record] = static_cast<std::uint32_t>(*index_.tokens(record));
  }
  return lengths;
}

std::uint64_t index_bert_records(const std::string& file) {
  const RecordIndex index({file});
  const BertRecordOptions options = any_ids(bert_record_shape(index));
  BertBatch one = empty_bert_batch(options, 1);
  RecordIndexBuilder builder;
  std::string buffer, framed;
  index.read(0, index.size(), buffer, [&](std::uint64_t record, std::string_view data) {
    put_bert_record(data, index, record, options, one, 0);
    framed.clear();
    append_record(framed, data);
    builder.add(framed, count_tokens(one, 0));
  });
  builder.write(file);
  return index.size();
}

}  // namespace smelt
