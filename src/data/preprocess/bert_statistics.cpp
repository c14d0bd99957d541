#include "data/preprocess/bert_statistics.h"

#include <algorithm>
#include <limits>

#include "data/input_pipeline/record_features.h"

namespace smelt::data {
namespace {

void add_each(const std::vector<std::uint64_t>& from, std::vector<std::uint64_t>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

io::Features bert_features(BertShape shape, std::int64_t vocab_size) {
  constexpr std::int64_t kMostTypes = std::numeric_limits<std::int32_t>::max();
  const auto integers = [](std::string name, compiler::Dims row, std::int64_t limit,
                           std::string limit_name) {
    return io::Feature{std::move(name), compiler::DType::s32, std::move(row), limit,
                       std::move(limit_name)};
  };
  const compiler::Dims length{shape.seq_length}, predictions{shape.max_predictions};
  return {integers("input_ids", length, vocab_size, "vocab_size"),
          integers("input_mask", length, 2, "a mask of"),
          integers("segment_ids", length, kMostTypes, "type_vocab_size"),
          integers("masked_lm_positions", predictions, shape.seq_length, "seq_length"),
          integers("masked_lm_ids", predictions, vocab_size, "vocab_size"),
          {.name = "masked_lm_weights", .dtype = compiler::DType::f32, .row = predictions},
          integers("next_sentence_labels", {1}, 2, "labels of")};
}

BertRow::BertRow(const Batch& record)
    : input_ids(record.arrays[0].values<std::int32_t>()),
      input_mask(record.arrays[1].values<std::int32_t>()),
      segment_ids(record.arrays[2].values<std::int32_t>()),
      masked_lm_positions(record.arrays[3].values<std::int32_t>()),
      masked_lm_ids(record.arrays[4].values<std::int32_t>()),
      masked_lm_weights(record.arrays[5].values<float>()),
      next_sentence_label(record.arrays[6].values<std::int32_t>()[0]) {}

BertStatistics::BertStatistics(BertShape s)
    : shape(s),
      lengths(static_cast<std::size_t>(s.seq_length) + 1),
      mask_positions(static_cast<std::size_t>(s.max_predictions) + 1) {}

void BertStatistics::add(const Batch& record, SpecialIds ids) {
  const BertRow row(record);
  const auto length = static_cast<std::size_t>(std::ranges::count(row.input_mask, 1));
  tokens += length;
  ++lengths[length];
  random_next += row.next_sentence_label != 0 ? 1 : 0;
  for (const auto values : {row.input_ids, row.masked_lm_ids})
    for (const std::int32_t id : values) largest_id = std::max(largest_id, id);
  unknown += static_cast<std::uint64_t>(std::ranges::count(row.input_ids, ids.unknown));
  std::size_t predicted = 0;
  for (std::size_t i = 0; i < row.masked_lm_ids.size(); ++i) {
    if (!(row.masked_lm_weights[i] > 0)) continue;
    ++predicted;
    const std::int32_t shown = row.input_ids[static_cast<std::size_t>(row.masked_lm_positions[i])];
    if (shown == ids.mask)
      ++masks.masked;
    else
      ++(shown == row.masked_lm_ids[i] ? masks.kept : masks.random);
  }
  predictions += predicted;
  ++mask_positions[predicted];
}

void BertStatistics::add(const KindStatistics& of_others) {
  const auto& others = dynamic_cast<const BertStatistics&>(of_others);
  tokens += others.tokens;
  predictions += others.predictions;
  random_next += others.random_next;
  largest_id = std::max(largest_id, others.largest_id);
  add_each(others.lengths, lengths);
  add_each(others.mask_positions, mask_positions);
  masks.masked += others.masks.masked;
  masks.kept += others.masks.kept;
  masks.random += others.masks.random;
  unknown += others.unknown;
}

DescribedFigures BertStatistics::settings() const {
  return {{"seq_length", shape.seq_length}, {"max_predictions", shape.max_predictions}};
}

DescribedFigures BertStatistics::counts() const { return {{"masked_tokens", predictions}}; }

std::optional<RecordKind> find_bert_records(const std::vector<io::ExampleFeature>& features,
                                            std::int64_t id_limit) {
  const auto count = [&](std::string_view name) -> std::int64_t {
    const auto* found = find_feature(features, name, io::ExampleKind::integers);
    return found == nullptr ? 0 : static_cast<std::int64_t>(found->count);
  };
  const BertShape shape{.seq_length = count("input_ids"),
                        .max_predictions = count("masked_lm_positions")};
  RecordKind kind{.features = bert_features(shape, id_limit),
                  .has_masks = true,
                  .statistics = [shape] { return std::make_unique<BertStatistics>(shape); }};
  for (const io::Feature& wanted : kind.features) {
    const auto kind =
        wanted.dtype == compiler::DType::f32 ? io::ExampleKind::reals : io::ExampleKind::integers;
    const auto* found = find_feature(features, wanted.name, kind);
    if (found == nullptr || static_cast<std::int64_t>(found->count) != wanted.count())
      return std::nullopt;
  }
  return kind;
}

}  // namespace smelt::data
