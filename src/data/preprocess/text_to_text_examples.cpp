#include "data/preprocess/text_to_text_examples.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/path.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::data {
namespace {

// Truncates the ids to `length`. Returns whether they were longer.
bool fit(std::vector<std::int32_t>& ids, std::int64_t length) {
  const bool is_long = std::ssize(ids) > length;
  const std::int32_t end = ids.back();
  ids.resize(static_cast<std::size_t>(length));
  if (is_long) ids.back() = end;
  return is_long;
}

// Encodes rows on several threads and counts truncated ones.
class AnswerEncoder {
 public:
  explicit AnswerEncoder(const TextToTextExamplesJob& job) : job_(job) {}

  EncodedRow encode(const LabelledRow& row) {
    auto inputs = job_.encode(job_.prefix + row.text), targets = job_.encode(row.label);
    EncodedRow out{.record = {}, .tokens = inputs.size(), .unknown = unknown_in(inputs)};
    if (out.unknown > 0) ++texts_;
    if (unknown_in(targets) > 0) ++targets_;
    const bool long_target = fit(targets, job_.targets_length);
    out.is_cut = fit(inputs, job_.inputs_length) || long_target;
    if (long_target) ++cut_;
    io::ExampleWriter example;
    example.integers("inputs", inputs);
    example.integers("targets", targets);
    io::append_record(out.record, example.take());
    return out;
  }
  TextToTextSummary summary(RowCounts counts) const {
    return {std::move(counts), cut_, texts_, targets_};
  }

 private:
  std::size_t unknown_in(const std::vector<std::int32_t>& ids) const {
    return static_cast<std::size_t>(std::ranges::count(ids, job_.unknown));
  }

  const TextToTextExamplesJob& job_;
  std::atomic<std::uint64_t> cut_ = 0, texts_ = 0, targets_ = 0;
};

OrderedJson answers_description(const TextToTextExamplesJob& job, const TextToTextSummary& s) {
  return {{"kind", "text_to_text"},
          {"files", {io::path_name(job.output)}},
          {"examples", s.examples},
          {"inputs_length", job.inputs_length},
          {"targets_length", job.targets_length},
          {"prefix", job.prefix},
          {"cut", s.cut},
          {"cut_targets", s.cut_targets},
          {"unknown_texts", s.unknown_texts},
          {"unknown_targets", s.unknown_targets},
          {"vocabulary", {{"file", job.vocab}, {"crc32c", text::vocabulary_crc32c(job.vocab)}}},
          {"text", {{"tokens", s.tokens}, {"unknown_tokens", s.unknown}}}};
}

}  // namespace

std::uint64_t write_text_to_text_rows(const TextToTextExamplesJob& job) {
  const auto wanted = wanted_rows(job.rows, job.what, job.split,
                                  [](const LabelledRow&, const std::string&) { return 0; });
  io::OutputFile file(job.output);
  auto rows = LabelledRows::quiet(job.rows, job.what);
  std::size_t number = 0;
  std::uint64_t written = 0;
  for (LabelledRow row; rows.next(row); ++number) {
    if (job.split && !wanted.at(number)) continue;
    file.write(row_line(row));
    ++written;
  }
  file.commit();
  return written;
}

TextToTextSummary write_text_to_text(const TextToTextExamplesJob& job) {
  const auto wanted = wanted_rows(job.rows, job.what, job.split,
                                  [](const LabelledRow&, const std::string&) { return 0; });
  AnswerEncoder encoder(job);
  RowRecords records(job.output,
                     [&](const LabelledRow& row) { return std::vector{encoder.encode(row)}; });
  std::optional<io::OutputFile> kept;
  if (job.keeps_rows) kept.emplace(rows_beside(job.output));
  auto rows = rows_to_write(job.rows, job.what, job.split);
  std::size_t number = 0;
  for (LabelledRow row; rows.next(row); ++number) {
    if (job.split && !wanted.at(number)) continue;
    if (kept) kept->write(row_line(row));
    records.add(std::move(row));
  }
  TextToTextSummary out = encoder.summary(records.finish());
  if (out.examples == 0)
    throw UsageError(str(job.what, ": ", job.rows.input, " has no row to make an example of"),
                     "give rows of texts and answers");
  io::write_file(job.output + ".json", answers_description(job, out).dump(2) + "\n");
  text::UnknownCount{.unknown = out.unknown, .tokens = out.tokens}.warn(job.what, job.vocab);
  if (kept) kept->commit();
  records.commit();
  return out;
}

}  // namespace smelt::data
