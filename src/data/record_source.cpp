#include "data/record_source.h"

#include "base/error.h"
#include "base/philox.h"
#include "data/permutation.h"
#include "format/example.h"
#include "store/file.h"

namespace smelt {
namespace {

// One integer feature of a record: how many values it must have and where they must lie.
struct Rule {
  std::string_view name;
  std::int64_t count;
  std::int64_t limit;  // values are in [0, limit)
  std::string_view limit_name;
};

void check_count(const std::string& place, std::string_view name, std::size_t count,
                 std::int64_t wanted) {
  if (count != static_cast<std::size_t>(wanted))
    throw UsageError(str(place, ": ", name, " has ", count, " values, not ", wanted),
                     "give the lengths that the data were made with, or make the data again");
}

void append_checked(const Example& example, const std::string& place, const Rule& rule,
                    std::vector<std::int32_t>& out) {
  const auto& values = example.integers(rule.name);
  check_count(place, rule.name, values.size(), rule.count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= rule.limit)
      throw UsageError(str(place, ": ", rule.name, "[", i, "] = ", values[i],
                           " is out of range for ", rule.limit_name, " ", rule.limit),
                       "were the data made with this vocabulary and these lengths?");
    out.push_back(static_cast<std::int32_t>(values[i]));
  }
}

}  // namespace

BertRecordShape bert_record_shape(const RecordIndex& index) {
  const Example example(index.read(0), index.place(0));
  return {.seq_length = static_cast<std::int64_t>(example.integers("input_ids").size()),
          .max_predictions =
              static_cast<std::int64_t>(example.integers("masked_lm_positions").size())};
}

void append_bert_record(const RecordIndex& index, std::uint64_t record,
                        const BertRecordOptions& options, BertBatch& batch) {
  const std::string place = index.place(record);
  const Example example(index.read(record), place);
  const std::int64_t length = options.seq_length, predictions = options.max_predictions;
  const auto integers = [&](const Rule& rule, std::vector<std::int32_t>& out) {
    append_checked(example, place, rule, out);
  };
  integers({"input_ids", length, options.vocab_size, "vocab_size"}, batch.input_ids);
  integers({"input_mask", length, 2, "a mask of"}, batch.input_mask);
  integers({"segment_ids", length, options.type_vocab_size, "type_vocab_size"}, batch.segment_ids);
  integers({"masked_lm_positions", predictions, length, "seq_length"}, batch.masked_lm_positions);
  integers({"masked_lm_ids", predictions, options.vocab_size, "vocab_size"}, batch.masked_lm_ids);
  integers({"next_sentence_labels", 1, 2, "labels of"}, batch.next_sentence_labels);
  const auto& weights = example.reals("masked_lm_weights");
  check_count(place, "masked_lm_weights", weights.size(), predictions);
  batch.masked_lm_weights.insert(batch.masked_lm_weights.end(), weights.begin(), weights.end());
  ++batch.batch;
}

BertRecordSource::BertRecordSource(BertRecordOptions options)
    : options_(std::move(options)),
      index_(expand_patterns(options_.input, "training data")),
      key_(random_key(options_.seed, "records")) {
  const auto [seq_length, max_predictions] = bert_record_shape(index_);
  const auto check = [&](std::string_view name, std::int64_t found, std::int64_t wanted) {
    if (found != wanted)
      throw UsageError(str(index_.place(0), ": ", name, " is ", found, ", not ", wanted),
                       str("set ", name, " to ", found, ", or make the data again"));
  };
  check("seq_length", seq_length, options_.seq_length);
  check("max_predictions", max_predictions, options_.max_predictions);
  for (std::size_t file = 0; file < index_.files().size(); ++file) {
    BertBatch ignored;
    if (index_.first_of(file) < index_.first_of(file + 1)) 
      append_bert_record(index_, index_.first_of(file), options_, ignored);
  }
}

BertBatch BertRecordSource::empty_batch(std::int64_t batch_size) const {
  CHECK(batch_size >= 1, batch_size);
  BertBatch batch;
  batch.seq_length = options_.seq_length;
  batch.max_predictions = options_.max_predictions;
  const auto tokens = static_cast<std::size_t>(batch_size * batch.seq_length);
  for (auto* values : {&batch.input_ids, &batch.input_mask, &batch.segment_ids})
    values->reserve(tokens);
  return batch;
}

BertBatch BertRecordSource::batch(std::uint64_t step, std::int64_t batch_size) const {
  BertBatch batch = empty_batch(batch_size);
  const auto count = static_cast<std::uint64_t>(batch_size);
  for (std::uint64_t position = step * count; position < (step + 1) * count; ++position) {
    const Permutation epoch(size(), key_, position / size());
    append_bert_record(index_, epoch(position % size()), options_, batch);
  }
  return batch;
}

BertBatch BertRecordSource::batch_in_order(std::uint64_t step, std::int64_t batch_size) const {
  BertBatch batch = empty_batch(batch_size);
  const auto count = static_cast<std::uint64_t>(batch_size);
  for (std::uint64_t position = step * count; position < (step + 1) * count; ++position)
    append_bert_record(index_, position % size(), options_, batch);
  return batch;
}

BertPrefetch::BertPrefetch(const BertRecordSource& source, std::int64_t batch_size,
                           std::uint64_t first_step)
    : source_(source), batch_size_(batch_size), step_(first_step) {
  start();
}

void BertPrefetch::start() {
  pending_ = std::async(std::launch::async,
                        [this, step = step_] { return source_.batch(step, batch_size_); });
}

BertBatch BertPrefetch::next() {
  BertBatch batch = pending_.get();
  ++step_;
  start();
  return batch;
}

}  // namespace smelt
