#include "data/inspect.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/parallel.h"
#include "data/description.h"
#include "data/put_record.h"
#include "format/crc32c.h"
#include "format/example.h"
#include "store/file.h"
#include "tokenize/vocabulary.h"

namespace smelt {
namespace {

constexpr std::uint64_t kChunkRecords = 4096;  // that a thread takes at once

struct SpecialIds {
  std::optional<std::int32_t> mask, unknown;
};

template <class T>
void add_each(const std::vector<T>& from, std::vector<T>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

// Counts one thread's records.
class Inspector {
 public:
  Inspector(const RecordIndex& index, const Features& features, SpecialIds ids)
      : index_(index), features_(features), ids_(ids), one_(empty_batch(features, 1)) {
    counts_.lengths.resize(static_cast<std::size_t>(features[0].count()) + 1);
    counts_.mask_positions.resize(static_cast<std::size_t>(features[3].count()) + 1);
    if (ids.mask) counts_.masks.emplace();
    if (ids.unknown) counts_.unknown = 0;
  }

  void inspect(std::uint64_t first, std::uint64_t last) {
    while (first < last) try {
        index_.read(first, last - first, buffer_, [&](std::uint64_t record, std::string_view data) {
          put_record(data, index_, record, features_, one_, 0);
          count();
          first = record + 1;
        });
      } catch (const UsageError& error) {
        refuse(first++, error.what());
      }
  }

  void add_to(RecordStatistics& all) const {
    all.tokens += counts_.tokens;
    all.predictions += counts_.predictions;
    all.random_next += counts_.random_next;
    all.largest_id = std::max(all.largest_id, counts_.largest_id);
    add_each(counts_.lengths, all.lengths);
    add_each(counts_.mask_positions, all.mask_positions);
    if (counts_.masks) {
      all.masks->masked += counts_.masks->masked;
      all.masks->kept += counts_.masks->kept;
      all.masks->random += counts_.masks->random;
    }
    if (counts_.unknown) *all.unknown += *counts_.unknown;
    all.bad_records += counts_.bad_records;
  }
  std::uint64_t first_bad() const { return first_bad_; }
  const std::string& first_fault() const { return first_fault_; }
  const RecordStatistics& counts() const { return counts_; }

 private:
  void count() {
    const BertRow row(one_);
    const auto tokens = static_cast<std::size_t>(std::ranges::count(row.input_mask, 1));
    counts_.tokens += tokens;
    ++counts_.lengths[tokens];
    counts_.random_next += row.next_sentence_label != 0 ? 1 : 0;
    for (const auto ids : {row.input_ids, row.masked_lm_ids})
      for (const std::int32_t id : ids) counts_.largest_id = std::max(counts_.largest_id, id);
    if (ids_.unknown)
      *counts_.unknown +=
          static_cast<std::uint64_t>(std::ranges::count(row.input_ids, *ids_.unknown));
    count_predictions(row);
  }
  void count_predictions(const BertRow& row) {
    std::size_t predictions = 0;
    for (std::size_t i = 0; i < row.masked_lm_ids.size(); ++i) {
      if (!(row.masked_lm_weights[i] > 0)) continue;
      ++predictions;
      if (!ids_.mask) continue;
      const std::int32_t shown =
          row.input_ids[static_cast<std::size_t>(row.masked_lm_positions[i])];
      if (shown == *ids_.mask)
        ++counts_.masks->masked;
      else
        ++(shown == row.masked_lm_ids[i] ? counts_.masks->kept : counts_.masks->random);
    }
    counts_.predictions += predictions;
    ++counts_.mask_positions[predictions];
  }
  void refuse(std::uint64_t record, const char* fault) {
    ++counts_.bad_records;
    if (record >= first_bad_) return;
    first_bad_ = record;
    first_fault_ = fault;
  }

  const RecordIndex& index_;
  const Features& features_;
  SpecialIds ids_;
  RecordStatistics counts_;
  Batch one_;
  std::string buffer_;
  std::uint64_t first_bad_ = std::numeric_limits<std::uint64_t>::max();
  std::string first_fault_;
};

void count_all(const RecordIndex& index, const Features& features, SpecialIds ids, int threads,
               RecordStatistics& out) {
  Inspector sum(index, features, ids);
  out.lengths = sum.counts().lengths;
  out.mask_positions = sum.counts().mask_positions;
  out.masks = sum.counts().masks;
  out.unknown = sum.counts().unknown;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = 0;
  std::uint64_t first_bad = std::numeric_limits<std::uint64_t>::max();
  run_parallel(threads, [&](int) {
    Inspector inspector(index, features, ids);
    for (std::uint64_t first; (first = next.fetch_add(kChunkRecords)) < index.size();)
      inspector.inspect(first, std::min(first + kChunkRecords, index.size()));
    const std::lock_guard lock(mutex);
    inspector.add_to(out);
    if (inspector.first_bad() >= first_bad) return;
    first_bad = inspector.first_bad();
    const std::string& file = index.file_of_record(first_bad);
    out.first_bad = BadRecord{.file = file,
                              .record = index.number_in_file(first_bad),
                              .offset = index.offset(first_bad),
                              .fault = inspector.first_fault()};
  });
}

void keep_samples(const RecordIndex& index, const Features& features, std::int64_t samples,
                  RecordStatistics& out) {
  const auto count = std::min(index.size(), static_cast<std::uint64_t>(samples));
  for (std::uint64_t i = 0; i < count; ++i) try {
      const std::uint64_t record = index.size() / count * i + index.size() % count * i / count;
      RecordSample sample{.place = index.place(record), .example = empty_batch(features, 1)};
      put_record(index.read(record), index, record, features, sample.example, 0);
      out.samples.push_back(std::move(sample));
    } catch (const UsageError&) {  // a bad record, which is counted
    }
}

// What the description says otherwise than the records and the vocabulary.
void compare(const DataDescription& description, const RecordIndex& index, const std::string& vocab,
             RecordStatistics& out) {
  out.description = description.origin;
  const auto compare_one = [&](std::string_view what, const auto& described, auto found) {
    if (described && static_cast<std::uint64_t>(*described) != static_cast<std::uint64_t>(found))
      out.contradictions.push_back(
          str(what, " ", *described, " in the description, ", found, " found"));
  };
  compare_one("seq_length", description.seq_length, out.shape.seq_length);
  compare_one("max_predictions", description.max_predictions, out.shape.max_predictions);
  if (!vocab.empty())
    compare_one("checksum of the vocabulary", description.vocabulary_crc32c,
                crc32c(read_file(vocab)));
  if (description.files.size() != index.files().size())
    return;  // another part of the data than it describes
  compare_one("examples", description.examples, out.records);
  if (out.bad_records == 0)
    compare_one("masked_tokens", description.masked_tokens, out.predictions);
}

}  // namespace

RecordStatistics inspect_bert_records(const InspectOptions& inspect) {
  if (inspect.samples < 0 || inspect.threads < 0)
    throw UsageError(str("inspect: samples ", inspect.samples, " and threads ", inspect.threads),
                     "0 is the least");
  std::optional<Vocabulary> vocabulary;
  if (!inspect.vocab.empty()) vocabulary = Vocabulary::load(inspect.vocab);
  const RecordIndex index(record_files(inspect.input, "inspect"));
  RecordStatistics out;
  out.files = index.files().size();
  out.records = index.size();
  out.bytes = index.bytes();
  const Example first(index.read(0), index.place(0));
  out.shape = {
      .seq_length = static_cast<std::int64_t>(first.integers("input_ids").size()),
      .max_predictions = static_cast<std::int64_t>(first.integers("masked_lm_positions").size())};
  const Features features = bert_features(
      out.shape, inspect.vocab_size.value_or(
                     vocabulary ? vocabulary->size() : std::numeric_limits<std::int32_t>::max()));
  SpecialIds ids;
  if (vocabulary) ids = {.mask = vocabulary->id("[MASK]"), .unknown = vocabulary->find("[UNK]")};
  count_all(index, features, ids, inspect.threads == 0 ? available_threads() : inspect.threads,
            out);
  keep_samples(index, features, inspect.samples, out);
  if (const auto description = find_description(index.files()))
    compare(*description, index, inspect.vocab, out);
  return out;
}

}  // namespace smelt
