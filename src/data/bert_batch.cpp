#include "data/bert_batch.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "format/example.h"
#include "format/example_slots.h"

namespace smelt {
namespace {

constexpr std::size_t kFeatures = 7;

// A feature's place in the batch, and the option that limits its values.
struct Field {
  FeatureSlot slot;
  std::string_view limit_name;
};

std::array<Field, kFeatures> fields_of(const BertRecordOptions& o, BertBatch& b, std::size_t row) {
  const auto length = static_cast<std::size_t>(b.seq_length);
  const auto predictions = static_cast<std::size_t>(b.max_predictions);
  const auto integers = [&](std::string_view name, std::vector<std::int32_t>& to, std::size_t count,
                            std::int64_t limit, std::string_view limit_name) -> Field {
    return {{.name = name,
             .count = count,
             .integers = to.data() + row * count,
             .limit = limit,
             .reals = nullptr},
            limit_name};
  };
  return {integers("input_ids", b.input_ids, length, o.vocab_size, "vocab_size"),
          integers("input_mask", b.input_mask, length, 2, "a mask of"),
          integers("segment_ids", b.segment_ids, length, o.type_vocab_size, "type_vocab_size"),
          integers("masked_lm_positions", b.masked_lm_positions, predictions, b.seq_length,
                   "seq_length"),
          integers("masked_lm_ids", b.masked_lm_ids, predictions, o.vocab_size, "vocab_size"),
          {{.name = "masked_lm_weights",
            .count = predictions,
            .integers = nullptr,
            .limit = 0,
            .reals = b.masked_lm_weights.data() + row * predictions},
           ""},
          integers("next_sentence_labels", b.next_sentence_labels, 1, 2, "labels of")};
}

void check_count(const std::string& place, const FeatureSlot& slot, std::size_t count) {
  if (count != slot.count)
    throw UsageError(str(place, ": ", slot.name, " has ", count, " values, not ", slot.count),
                     "give the lengths that the data were made with, or make the data again");
}

void copy_integers(const Example& example, const std::string& place, const Field& field) {
  const FeatureSlot& slot = field.slot;
  const auto& values = example.integers(slot.name);
  check_count(place, slot, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= slot.limit)
      throw UsageError(str(place, ": ", slot.name, "[", i, "] = ", values[i],
                           " is out of range for ", field.limit_name, " ", slot.limit),
                       "were the data made with this vocabulary and these lengths?");
    slot.integers[i] = static_cast<std::int32_t>(values[i]);
  }
}

void copy_reals(const Example& example, const std::string& place, const FeatureSlot& slot) {
  const auto& values = example.reals(slot.name);
  check_count(place, slot, values.size());
  std::ranges::copy(values, slot.reals);
}

}  // namespace

BertRecordShape bert_record_shape(const RecordIndex& index) {
  const Example example(index.read(0), index.place(0));
  return {
      .seq_length = static_cast<std::int64_t>(example.integers("input_ids").size()),
      .max_predictions = static_cast<std::int64_t>(example.integers("masked_lm_positions").size())};
}

BertBatch empty_bert_batch(const BertRecordOptions& options, std::int64_t batch) {
  CHECK(batch >= 1, batch);
  BertBatch out;
  out.batch = batch;
  out.seq_length = options.seq_length;
  out.max_predictions = options.max_predictions;
  const auto rows = static_cast<std::size_t>(batch);
  const auto tokens = rows * static_cast<std::size_t>(options.seq_length);
  const auto predictions = rows * static_cast<std::size_t>(options.max_predictions);
  for (auto* values : {&out.input_ids, &out.input_mask, &out.segment_ids}) values->resize(tokens);
  for (auto* values : {&out.masked_lm_positions, &out.masked_lm_ids}) values->resize(predictions);
  out.masked_lm_weights.resize(predictions);
  out.next_sentence_labels.resize(rows);
  return out;
}

void put_bert_record(std::string_view data, const RecordIndex& index, std::uint64_t record,
                     const BertRecordOptions& options, BertBatch& batch, std::size_t row) {
  const auto fields = fields_of(options, batch, row);
  std::array<FeatureSlot, kFeatures> slots;
  std::ranges::transform(fields, slots.begin(), &Field::slot);
  if (fill_slots(data, slots)) return;
  const std::string place = index.place(record);
  const Example example(data, place);
  for (const Field& field : fields) {
    if (field.slot.reals == nullptr)
      copy_integers(example, place, field);
    else
      copy_reals(example, place, field.slot);
  }
}

}  // namespace smelt
