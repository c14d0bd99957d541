#include "data/input_pipeline/inspect.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/parallel.h"
#include "data/input_pipeline/description.h"
#include "data/input_pipeline/put_record.h"
#include "data/input_pipeline/record_features.h"
#include "io/filesystem/file.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::data {
namespace {

constexpr std::uint64_t kChunkRecords = 4096;  // records that a thread processes at once

// What each record must have.
struct Expected {
  std::vector<io::ExampleFeature> features;
  std::optional<RecordKind> kind;
  std::size_t kind_number = 0;
  io::Features checked;  // features of the kind, or those with ids of a vocabulary
  SpecialIds ids;
};

// Counts one thread's records.
class Inspector {
 public:
  Inspector(const RecordIndex& index, const Expected& expected)
      : index_(index), expected_(expected) {
    for (const io::ExampleFeature& feature : expected.features)
      features_.push_back({.feature = feature, .integers = {}, .reals = {}});
    if (expected.kind) kind_ = expected.kind->statistics();
    if (!expected.checked.empty()) row_ = empty_batch(expected.checked, 1);
  }

  void inspect(std::uint64_t first, std::uint64_t last) {
    index_.read(
        first, last - first, buffer_,
        [&](std::uint64_t record, std::string_view data) { count(record, data); },
        [&](std::uint64_t record, const char* fault) { refuse(record, fault); });
  }

  void add_to(RecordStatistics& all) const {
    if (all.features.empty()) {
      all.features = features_;
      all.kind = kind_;
    } else {
      for (std::size_t i = 0; i < features_.size(); ++i) all.features[i].add(features_[i]);
      if (kind_) all.kind->add(*kind_);
    }
    all.bad_records += bad_records_;
  }
  std::uint64_t first_bad() const { return first_bad_; }
  const std::string& first_fault() const { return first_fault_; }

 private:
  void count(std::uint64_t record, std::string_view data) {
    const std::string place = index_.place(record);
    const io::Example example(data, place);
    check_features(example, expected_.features, place);
    if (!expected_.checked.empty()) put_record(data, index_, record, expected_.checked, row_, 0);
    if (kind_) kind_->add(row_, expected_.ids);
    for (FeatureStatistics& feature : features_) feature.add(example);
  }
  void refuse(std::uint64_t record, const char* fault) {
    ++bad_records_;
    if (record >= first_bad_) return;
    first_bad_ = record;
    first_fault_ = fault;
  }

  const RecordIndex& index_;
  const Expected& expected_;
  std::vector<FeatureStatistics> features_;
  std::shared_ptr<KindStatistics> kind_;
  Batch row_;
  std::string buffer_;
  std::uint64_t bad_records_ = 0, first_bad_ = std::numeric_limits<std::uint64_t>::max();
  std::string first_fault_;
};

void count_all(const RecordIndex& index, const Expected& expected, int threads,
               RecordStatistics& out) {
  std::mutex mutex;
  std::atomic<std::uint64_t> next = 0;
  std::uint64_t first_bad = std::numeric_limits<std::uint64_t>::max();
  run_parallel(threads, [&](int) {
    Inspector inspector(index, expected);
    for (std::uint64_t first; (first = next.fetch_add(kChunkRecords)) < index.size();)
      inspector.inspect(first, std::min(first + kChunkRecords, index.size()));
    const std::lock_guard lock(mutex);
    inspector.add_to(out);
    if (inspector.first_bad() >= first_bad) return;
    first_bad = inspector.first_bad();
    out.first_bad = BadRecord{.file = index.file_of_record(first_bad),
                              .record = index.number_in_file(first_bad),
                              .offset = index.offset(first_bad),
                              .fault = inspector.first_fault()};
  });
}

RecordSample sample_of(const RecordIndex& index, const Expected& expected, std::uint64_t record) {
  const std::string data = index.read(record), place = index.place(record);
  RecordSample sample{.place = place, .example = io::Example(data, place), .row = {}};
  check_features(sample.example, expected.features, place);
  if (expected.checked.empty()) return sample;
  Batch row = empty_batch(expected.checked, 1);
  put_record(data, index, record, expected.checked, row, 0);
  if (expected.kind) sample.row = std::move(row);
  return sample;
}

void keep_samples(const RecordIndex& index, const Expected& expected, std::int64_t samples,
                  RecordStatistics& out) {
  const auto count = std::min(index.size(), static_cast<std::uint64_t>(samples));
  for (std::uint64_t i = 0; i < count; ++i) {
    try {
      const std::uint64_t record = index.size() / count * i + index.size() % count * i / count;
      out.samples.push_back(sample_of(index, expected, record));
    } catch (const UsageError&) {  // counted as a bad record
    }
  }
}

// Lists the differences between the description and the records or the vocabulary.
void compare(const DataDescription& description, const RecordIndex& index, const std::string& vocab,
             RecordStatistics& out) {
  out.description = description.origin;
  const auto compare_one = [&](std::string_view what, const auto& described, const auto& found) {
    if (described != found)
      out.contradictions.push_back(
          str(what, " ", described, " in the description, ", found, " found"));
  };
  const auto compare_each = [&](const DescribedFigures& figures) {
    for (const auto& [name, found] : figures)
      if (const auto said = description.all.find(name); said != description.all.end())
        compare_one(name, *said, found);
  };
  if (out.kind) compare_each(out.kind->settings());
  if (!vocab.empty() && description.vocabulary_crc32c)
    compare_one("checksum of the vocabulary", *description.vocabulary_crc32c,
                text::vocabulary_crc32c(vocab));
  if (const auto missing = left_out(description, index.files()); !missing.empty())
    out.contradictions.push_back(missing_files_text(description, missing));
  if (description.files.size() != index.files().size())
    return;  // the description is for more files than these
  if (description.examples) compare_one("examples", *description.examples, out.records);
  if (out.kind && out.bad_records == 0) compare_each(out.kind->counts());
}

Expected expected_of(const InspectOptions& options, const RecordIndex& index) {
  Expected out;
  out.features = first_features(index);
  std::int64_t vocab_size = std::numeric_limits<std::int32_t>::max();
  std::optional<text::Vocabulary> vocabulary;
  const bool words = !options.vocab.empty() && !options.vocab.ends_with(".model");
  if (words) vocabulary = text::Vocabulary::load(options.vocab);
  if (vocabulary) vocab_size = vocabulary->size();
  const std::int64_t limit = options.vocab_size.value_or(vocab_size);
  for (std::size_t i = 0; i < options.kinds.size() && !out.kind; ++i) {
    out.kind = options.kinds[i](out.features, limit);
    out.kind_number = i;
  }
  if (vocabulary) {
    const bool has_masks = out.kind && out.kind->has_masks;
    out.ids = {
        .mask = has_masks ? vocabulary->id("[MASK]") : vocabulary->find("[MASK]").value_or(-1),
        .unknown = vocabulary->find("[UNK]").value_or(-1)};
  }
  if (out.kind) {
    out.checked = out.kind->features;
  } else if (words || options.vocab_size) {
    const io::ExampleFeature* ids =
        find_feature(out.features, kTokenIds, io::ExampleKind::integers);
    if (ids == nullptr)
      throw UsageError(str(index.place(0), ": no ", kTokenIds, ", but --vocab is given"),
                       "leave out --vocab");
    out.checked = {{.name = ids->name,
                    .row = {static_cast<std::int64_t>(ids->count)},
                    .limit = limit,
                    .limit_name = "vocab_size"}};
  }
  return out;
}

}  // namespace

RecordStatistics inspect_records(const InspectOptions& options) {
  if (options.samples < 0 || options.threads < 0)
    throw UsageError(str("inspect: expected 0 or more, got samples ", options.samples,
                         " and threads ", options.threads),
                     "use 0 or more");
  const RecordIndex index(record_files(options.input, "inspect"));
  const Expected expected = expected_of(options, index);
  RecordStatistics out;
  out.files = index.files().size();
  out.records = index.size();
  out.bytes = index.bytes();
  out.ids = expected.ids;
  out.kind_number = expected.kind_number;
  count_all(index, expected, options.threads == 0 ? available_threads() : options.threads, out);
  keep_samples(index, expected, options.samples, out);
  if (const auto description = find_description(index.files()))
    compare(*description, index, options.vocab, out);
  return out;
}

}  // namespace smelt::data
