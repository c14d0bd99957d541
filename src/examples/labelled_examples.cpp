#include "examples/labelled_examples.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "data/length_groups.h"
#include "data/record_index_file.h"
#include "format/crc32c.h"
#include "format/example.h"
#include "format/tfrecord.h"
#include "store/file.h"
#include "store/path.h"
#include "tokenize/text_pair.h"

namespace smelt {
namespace {

constexpr std::size_t kRowsAtOnce = 4096;  // that are in memory
constexpr std::size_t kRowsOfThread = 256;

struct LabelOf {
  std::vector<std::int32_t> classes;
  float number = 0;
};

struct Encoded {
  std::string record;
  std::size_t tokens = 0, unknown = 0;
  bool is_cut = false;
};

class RowEncoder {
 public:
  explicit RowEncoder(const LabelledExamplesJob& job)
      : job_(job),
        tokenizer_(BertTokenizer::load(job.vocab, job.tokenizer)),
        pairs_(tokenizer_, job.seq_length) {}

  Encoded encode(const LabelledRow& row, const LabelOf& label) const {
    const TextPairIds text = pairs_.encode(row.text, row.pair);
    const auto S = static_cast<std::size_t>(job_.seq_length);
    std::vector<std::int32_t> ids = text.ids, mask(ids.size(), 1), segments(text.first, 0);
    segments.resize(ids.size(), 1);
    for (auto* values : {&ids, &mask, &segments}) values->resize(S);
    ExampleWriter example;
    example.integers("input_ids", ids);
    example.integers("input_mask", mask);
    example.integers("segment_ids", segments);
    put_label(label, example);
    example.integers("is_real_example", std::array{1});
    Encoded out{
        .record = {},
        .tokens = text.ids.size(),
        .unknown = static_cast<std::size_t>(std::ranges::count(text.ids, tokenizer_.unknown())),
        .is_cut = text.cut > 0};
    append_record(out.record, example.take());
    return out;
  }

 private:
  void put_label(const LabelOf& label, ExampleWriter& example) const {
    switch (job_.labels.problem) {
      case Problem::single_label:
        return example.integers("label_ids", label.classes);
      case Problem::regression:
        return example.reals("label_ids", std::array{label.number});
      case Problem::multi_label: {
        std::vector<std::int32_t> is(job_.labels.names.size(), 0);
        for (const std::int32_t one : label.classes) is[static_cast<std::size_t>(one)] = 1;
        return example.integers("label_ids", is);
      }
    }
  }

  const LabelledExamplesJob& job_;
  BertTokenizer tokenizer_;
  TextPairEncoder pairs_;
};

LabelOf label_of(const LabelReader& reader, const LabelledRow& row, const std::string& place) {
  if (reader.labels().problem == Problem::regression)
    return {.classes = {}, .number = reader.number(row.label, place)};
  return {.classes = reader.classes(row.label, place)};
}

// What rows are split by: of several labels and of numbers nothing.
std::int32_t stratum_of(const LabelReader& reader, const LabelledRow& row,
                        const std::string& place) {
  const LabelOf label = label_of(reader, row, place);
  return reader.labels().problem == Problem::single_label ? label.classes.front() : 0;
}

std::vector<bool> wanted_rows(const LabelledExamplesJob& job, const LabelReader& reader) {
  std::vector<std::int32_t> strata;
  LabelledRows rows(job.rows, job.what);
  for (LabelledRow row; rows.next(row);) strata.push_back(stratum_of(reader, row, rows.place()));
  std::vector<bool> wanted = heldout_rows(strata, *job.split);
  if (job.split->part == RowSplit::Part::train) wanted.flip();
  return wanted;
}

class Writer {
 public:
  explicit Writer(const LabelledExamplesJob& job) : job_(job), encoder_(job), file_(job.output) {
    summary_.of_class.resize(job.labels.names.size());
  }

  void add(LabelledRow row, LabelOf label) {
    for (const std::int32_t one : label.classes) ++summary_.of_class[static_cast<std::size_t>(one)];
    rows_.push_back(std::move(row));
    labels_.push_back(std::move(label));
    if (rows_.size() == kRowsAtOnce) write_rows();
  }

  LabelledSummary finish() {
    write_rows();
    if (summary_.examples == 0)
      throw UsageError(str(job_.what, ": ", job_.rows.input, " gives no example"),
                       "give rows of texts and labels");
    index_.write(job_.output);
    summary_.lengths = lengths_for(std::move(tokens_), job_.seq_length);
    write_description();
    file_.commit();
    return summary_;
  }

 private:
  void write_rows() {
    std::vector<Encoded> encoded(rows_.size());
    run_each((rows_.size() + kRowsOfThread - 1) / kRowsOfThread, available_threads(),
             [&](std::size_t part) {
               const std::size_t begin = part * kRowsOfThread;
               const std::size_t end = std::min(begin + kRowsOfThread, rows_.size());
               for (std::size_t i = begin; i < end; ++i)
                 encoded[i] = encoder_.encode(rows_[i], labels_[i]);
             });
    for (const Encoded& one : encoded) {
      file_.write(one.record);
      index_.add(one.record, one.tokens);
      ++summary_.examples;
      summary_.tokens += one.tokens;
      summary_.unknown += one.unknown;
      summary_.cut += one.is_cut ? 1 : 0;
      tokens_.push_back(static_cast<std::int64_t>(one.tokens));
    }
    rows_.clear();
    labels_.clear();
  }

  void write_description() const {
    nlohmann::ordered_json out{
        {"kind", "classify"},
        {"files", {path_name(job_.output)}},
        {"examples", summary_.examples},
        {"seq_length", job_.seq_length},
        {"problem", word_of(job_.labels.problem, kProblems)},
        {"labels", job_.labels.names},
        {"of_class", summary_.of_class},
        {"cut", summary_.cut},
        {"lengths", summary_.lengths},
        {"vocabulary",
         {{"file", job_.vocab}, {"crc32c", crc32c(read_file(job_.vocab, kSmallFileBytes))}}},
        {"text", {{"tokens", summary_.tokens}, {"unknown_tokens", summary_.unknown}}}};
    write_file(job_.output + ".json", out.dump(2) + "\n");
  }

  const LabelledExamplesJob& job_;
  RowEncoder encoder_;
  OutputFile file_;
  RecordIndexBuilder index_;
  std::vector<LabelledRow> rows_;
  std::vector<LabelOf> labels_;
  std::vector<std::int64_t> tokens_;  // of each example
  LabelledSummary summary_;
};

}  // namespace

std::vector<bool> heldout_rows(const std::vector<std::int32_t>& classes, const RowSplit& split) {
  struct Row {
    std::int32_t of;
    std::uint64_t key;
    std::size_t number;
    auto operator<=>(const Row&) const = default;
  };
  const std::uint64_t key = random_key(split.seed, "held-out rows");
  std::vector<Row> rows;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto bits = philox(key, i, 0);
    rows.push_back({classes[i], std::uint64_t{bits[0]} << 32 | bits[1], i});
  }
  std::ranges::sort(rows);
  std::vector<bool> out(classes.size(), false);
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && rows[end].of == rows[begin].of) ++end;
    const auto all = static_cast<double>(end - begin);
    auto take = static_cast<std::size_t>(split.heldout * all + 0.5);
    if (end - begin > 1) take = std::clamp<std::size_t>(take, 1, end - begin - 1);
    if (end - begin == 1) take = 0;
    for (std::size_t i = begin; i < begin + take; ++i) out[rows[i].number] = true;
  }
  return out;
}

LabelledSummary write_labelled_examples(const LabelledExamplesJob& job) {
  const LabelReader reader(job.labels);
  std::vector<bool> wanted;
  if (job.split) wanted = wanted_rows(job, reader);
  Writer writer(job);
  LabelledRows rows(job.rows, job.what);
  std::size_t number = 0;
  for (LabelledRow row; rows.next(row); ++number) {
    if (job.split && !wanted.at(number)) continue;
    LabelOf label = label_of(reader, row, rows.place());
    writer.add(std::move(row), std::move(label));
  }
  return writer.finish();
}

}  // namespace smelt
