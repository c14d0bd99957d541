#include "data/preprocess/labelled_examples.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"
#include "data/input_pipeline/length_groups.h"
#include "data/preprocess/embedding_examples.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "text/tokenizers/text_pair.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::data {
namespace {

struct LabelOf {
  std::vector<std::int32_t> classes;
  float number = 0;
};

// Returns the label of a pair to rerank. Throws UsageError if it is not between 0 and 1.
float relevance_of(const LabelReader& reader, const std::string& label, const std::string& place) {
  const float value = reader.number(label, place);
  if (value < 0 || value > 1)
    throw UsageError(
        str(place, ": label ", label, " must be between 0 (not relevant) and 1 (relevant)"),
        "divide the labels by the largest one, or set model.problem to regression");
  return value;
}

LabelOf label_of(const LabelReader& reader, const LabelledRow& row, const std::string& place) {
  if (reader.labels().problem == io::Problem::regression)
    return {.classes = {}, .number = reader.number(row.label, place)};
  if (reader.labels().problem == io::Problem::rerank)
    return {.classes = {}, .number = relevance_of(reader, row.label, place)};
  LabelOf out{.classes = reader.classes(row.label, place)};
  const std::size_t words = text::words_in(row.text).size();
  if (reader.labels().problem == io::Problem::token_labels && out.classes.size() != words)
    throw UsageError(
        str(place, ": ", counted(words, "word"), " and ", counted(out.classes.size(), "label")),
        "give each word one label, with a space between");
  return out;
}

class RowEncoder {
 public:
  RowEncoder(const LabelledExamplesJob& job, const LabelReader& reader)
      : job_(job),
        reader_(reader),
        tokenizer_(text::BertTokenizer::load(job.vocab, job.tokenizer)),
        pairs_(tokenizer_, job.seq_length) {}

  // Encodes a row whose label was validated before. `classes` is set to the classes to train on.
  EncodedRow encode(const LabelledRow& row, std::vector<std::int32_t>& classes) const {
    const text::TextPairIds text = reader_.labels().problem == io::Problem::token_labels
                                       ? pairs_.encode_words(text::words_in(row.text))
                                       : pairs_.encode(row.text, row.pair);
    const auto S = static_cast<std::size_t>(job_.seq_length);
    std::vector<std::int32_t> ids = text.ids, mask(ids.size(), 1), segments(text.first, 0);
    segments.resize(ids.size(), 1);
    for (auto* values : {&ids, &mask, &segments}) values->resize(S);
    io::ExampleWriter example;
    example.integers("input_ids", ids);
    example.integers("input_mask", mask);
    example.integers("segment_ids", segments);
    LabelOf label = label_of(reader_, row, "");
    if (reader_.labels().problem == io::Problem::token_labels)
      label.classes.resize(text.words.size());
    put_label(label, text, example);
    classes = std::move(label.classes);
    example.integers("is_real_example", std::array{1});
    EncodedRow out{
        .record = {},
        .tokens = text.ids.size(),
        .unknown = static_cast<std::size_t>(std::ranges::count(text.ids, tokenizer_.unknown())),
        .is_cut = text.cut > 0};
    if (out.unknown > 0)
      text::count_unknown_characters(row.text, row.pair, tokenizer_, out.unknown_characters);
    io::append_record(out.record, example.take());
    return out;
  }

 private:
  void put_label(const LabelOf& label, const text::TextPairIds& text,
                 io::ExampleWriter& example) const {
    switch (job_.labels.problem) {
      case io::Problem::single_label:
        return example.integers("label_ids", label.classes);
      case io::Problem::regression:
      case io::Problem::rerank:
        return example.reals("label_ids", std::array{label.number});
      case io::Problem::multi_label: {
        std::vector<std::int32_t> is(job_.labels.names.size(), 0);
        for (const std::int32_t one : label.classes) is[static_cast<std::size_t>(one)] = 1;
        return example.integers("label_ids", is);
      }
      case io::Problem::token_labels: {
        std::vector<std::int32_t> of_piece(static_cast<std::size_t>(job_.seq_length), 0);
        for (std::size_t i = 0; i < text.words.size(); ++i)
          of_piece[text.words[i]] = label.classes[i] + 1;
        return example.integers("label_ids", of_piece);
      }
      case io::Problem::answer_spans:
        throw BugError("answers are written by data/preprocess/question_examples.h");
    }
  }

  const LabelledExamplesJob& job_;
  const LabelReader& reader_;
  text::BertTokenizer tokenizer_;
  text::TextPairEncoder pairs_;
};

// Returns the class by which rows are split, or a constant for several labels and for numbers.
std::int32_t stratum_of(const LabelReader& reader, const LabelledRow& row,
                        const std::string& place) {
  const LabelOf label = label_of(reader, row, place);
  return reader.labels().problem == io::Problem::single_label ? label.classes.front() : 0;
}

std::vector<bool> wanted_of(const LabelledExamplesJob& job, const LabelReader& reader) {
  if (reader.labels().problem == io::Problem::rerank)
    return wanted_groups(job.rows, job.what, job.split,
                         [](const LabelledRow& row) -> const std::string& { return row.text; });
  return wanted_rows(job.rows, job.what, job.split,
                     [&](const LabelledRow& row, const std::string& place) {
                       return stratum_of(reader, row, place);
                     });
}

// Calls `give` with the pairs of a query: the relevant document, then those that are not.
void each_document_of(const LabelledRow& row, const std::string& place,
                      const std::function<void(LabelledRow, const std::string& place)>& give) {
  const auto give_pair = [&](const std::string& document, const std::string& written,
                             const char* label) {
    give({.text = row.text,
          .pair = document,
          .label = label,
          .written_text = row.written_text,
          .written_pair = written},
         place);
  };
  give_pair(row.pair, row.written_pair, "1");
  for (const std::string& value : row.others)
    for (const std::string& document : texts_in(value)) give_pair(document, "", "0");
}

// Calls `give` for each row that `wanted` selects, in the order of the examples. If the job has
// both_orders, repeats the pairs with their texts swapped.
void each_row_of(const LabelledExamplesJob& job, const std::vector<bool>& wanted,
                 const std::function<void(LabelledRow, const std::string& place)>& give) {
  for (const bool is_swapped : {false, true}) {
    if (is_swapped && !job.both_orders) return;
    auto rows = is_swapped ? LabelledRows::quiet(job.rows, job.what)
                           : rows_to_write(job.rows, job.what, job.split);
    std::size_t number = 0;
    for (LabelledRow row; rows.next(row); ++number) {
      if ((job.split && !wanted.at(number)) || (is_swapped && trim(row.pair).empty())) continue;
      if (is_swapped) {
        std::swap(row.text, row.pair);
        std::swap(row.written_text, row.written_pair);
      }
      if (job.labels.problem == io::Problem::rerank && !job.rows.others.empty())
        each_document_of(row, rows.place(), give);
      else
        give(std::move(row), rows.place());
    }
  }
}

OrderedJson description_of(const LabelledExamplesJob& job, const LabelledSummary& s) {
  OrderedJson out{
      {"kind", "classify"},
      {"files", {io::path_name(job.output)}},
      {"examples", s.examples},
      {"seq_length", job.seq_length},
      {"problem", word_of(job.labels.problem, io::kProblems)},
      {"labels", job.labels.names},
      {"of_class", s.of_class},
      {"cut", s.cut},
      {"lengths", s.lengths},
      {"vocabulary", {{"file", job.vocab}, {"crc32c", text::vocabulary_crc32c(job.vocab)}}},
      {"text", {{"tokens", s.tokens}, {"unknown_tokens", s.unknown}}}};
  if (io::is_number(job.labels.problem)) out["mean_label"] = s.mean_label;
  return out;
}

}  // namespace

std::uint64_t write_labelled_rows(const LabelledExamplesJob& job) {
  const LabelReader reader(job.labels);
  io::OutputFile file(job.output);
  std::uint64_t rows = 0;
  each_row_of(job, wanted_of(job, reader), [&](const LabelledRow& row, const std::string&) {
    OrderedJson line{{"text", row.text}, {"label", row.label}};
    if (!job.rows.pair.empty()) line["pair"] = row.pair;
    file.write(line.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n");
    ++rows;
  });
  file.commit();
  return rows;
}

LabelledSummary write_labelled_examples(const LabelledExamplesJob& job) {
  const LabelReader reader(job.labels);
  const auto wanted = wanted_of(job, reader);
  const RowEncoder encoder(job, reader);
  std::vector<std::atomic<std::uint64_t>> of_class(job.labels.names.size());
  RowRecords records(job.output, [&](const LabelledRow& row) {
    std::vector<std::int32_t> classes;
    std::vector encoded{encoder.encode(row, classes)};
    for (const std::int32_t one : classes) ++of_class[static_cast<std::size_t>(one)];
    return encoded;
  });
  std::optional<io::OutputFile> kept;
  if (job.keeps_rows) kept.emplace(rows_beside(job.output));
  LabelledSummary out;
  std::uint64_t rows = 0;
  each_row_of(job, wanted, [&](LabelledRow row, const std::string& place) {
    const LabelOf label = label_of(reader, row, place);  // throws an error with the reason
    out.mean_label += (label.number - out.mean_label) / static_cast<double>(++rows);
    if (kept) kept->write(row_line(row));
    records.add(std::move(row));
  });
  static_cast<RowCounts&>(out) = records.finish();
  out.of_class.assign(of_class.begin(), of_class.end());
  if (out.examples == 0)
    throw_no_example(job.rows, job.what, job.split, wanted.size(), "give rows of texts and labels");
  out.lengths = lengths_for(out.tokens_of_each, job.seq_length);
  io::write_file(job.output + ".json", description_of(job, out).dump(2) + "\n");
  text::UnknownCount{
      .unknown = out.unknown, .tokens = out.tokens, .characters = out.unknown_characters}
      .warn(job.what, job.vocab);
  if (kept) kept->commit();
  records.commit();
  return out;
}

}  // namespace smelt::data
