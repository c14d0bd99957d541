#include "data/inspect.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "store/file.h"

namespace smelt {
namespace {

void add(const BertBatch& record, RecordStatistics& out) {
  for (const std::int32_t mask : record.input_mask) out.tokens += mask != 0 ? 1 : 0;
  for (const float weight : record.masked_lm_weights) out.predictions += weight > 0 ? 1 : 0;
  out.random_next += record.next_sentence_labels[0] != 0 ? 1 : 0;
  for (const auto* ids : {&record.input_ids, &record.masked_lm_ids})
    for (const std::int32_t id : *ids) out.largest_id = std::max(out.largest_id, id);
}

}  // namespace

RecordStatistics inspect_bert_records(const std::string& patterns,
                                      std::optional<std::int64_t> vocab_size) {
  const RecordIndex index(expand_patterns(patterns, "inspect"));
  RecordStatistics out;
  out.files = index.files().size();
  out.records = index.size();
  for (const std::string& file : index.files()) out.bytes += std::filesystem::file_size(file);
  out.shape = bert_record_shape(index);
  BertRecordOptions options;
  options.seq_length = out.shape.seq_length;
  options.max_predictions = out.shape.max_predictions;
  options.vocab_size = vocab_size.value_or(std::numeric_limits<std::int32_t>::max());
  for (std::uint64_t record = 0; record < index.size(); ++record) {
    try {
      BertBatch one;
      append_bert_record(index, record, options, one);
      add(one, out);
    } catch (const UsageError& error) {
      if (out.bad_records++ == 0) out.first_fault = error.what();
    }
  }
  return out;
}

}  // namespace smelt
