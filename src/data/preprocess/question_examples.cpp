#include "data/preprocess/question_examples.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/input_pipeline/length_groups.h"
#include "data/preprocess/questions.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::data {
namespace {

// Returns the pieces [first, last] that an answer covers, or nullopt if it covers none.
std::optional<std::pair<std::size_t, std::size_t>> pieces_of(
    const RightAnswer& answer, const std::vector<text::TokenSpan>& pieces) {
  const auto first = std::ranges::upper_bound(pieces, answer.begin, {},
                                              [](const text::TokenSpan& s) { return s.end; });
  const auto behind = std::ranges::lower_bound(pieces, answer.end, {},
                                               [](const text::TokenSpan& s) { return s.begin; });
  if (first >= behind) return std::nullopt;
  return std::pair(static_cast<std::size_t>(first - pieces.begin()),
                   static_cast<std::size_t>(behind - pieces.begin()) - 1);
}

class QuestionEncoder {
 public:
  explicit QuestionEncoder(const QuestionExamplesJob& job)
      : length_(static_cast<std::size_t>(job.seq_length)),
        tokenizer_(text::BertTokenizer::load(job.vocab, job.tokenizer)),
        windows_(tokenizer_, job.seq_length, job.windows) {}

  std::vector<EncodedRow> encode(const LabelledRow& row) const {
    const text::AnswerWindows all = windows_.encode(row.text, row.pair);
    std::optional<std::pair<std::size_t, std::size_t>> answer;
    for (const RightAnswer& one : right_answers(row.label, row.pair, ""))
      if (one.in_place && !answer) answer = pieces_of(one, all.pieces);
    std::vector<EncodedRow> out;
    for (const text::AnswerWindow& window : all.windows) {
      std::pair<std::size_t, std::size_t> place{0, 0};
      const std::size_t pieces = window.ids.words.size() - 1;
      if (answer && answer->first >= window.first && answer->second < window.first + pieces)
        place = {window.ids.words[answer->first - window.first + 1],
                 window.ids.words[answer->second - window.first + 1]};
      out.push_back(record_of(window.ids, place, all.cut > 0));
    }
    if (std::ranges::any_of(out, [](const EncodedRow& one) { return one.unknown > 0; }))
      text::count_unknown_characters(row.text, row.pair, tokenizer_,
                                     out.front().unknown_characters);
    return out;
  }

 private:
  EncodedRow record_of(const text::TextPairIds& text, std::pair<std::size_t, std::size_t> answer,
                       bool is_cut) const {
    std::vector<std::int32_t> ids = text.ids, mask(ids.size(), 1), segments(text.first, 0);
    segments.resize(ids.size(), 1);
    for (auto* values : {&ids, &mask, &segments}) values->resize(length_);
    io::ExampleWriter example;
    example.integers("input_ids", ids);
    example.integers("input_mask", mask);
    example.integers("segment_ids", segments);
    example.integers("start_positions", std::array{static_cast<std::int32_t>(answer.first)});
    example.integers("end_positions", std::array{static_cast<std::int32_t>(answer.second)});
    example.integers("is_real_example", std::array{1});
    EncodedRow out{
        .record = {},
        .tokens = text.ids.size(),
        .unknown = static_cast<std::size_t>(std::ranges::count(text.ids, tokenizer_.unknown())),
        .is_cut = is_cut};
    io::append_record(out.record, example.take());
    return out;
  }

  std::size_t length_;
  text::BertTokenizer tokenizer_;
  text::AnswerWindowEncoder windows_;
};

// Returns whether to use a question. Logs a warning, or throws UsageError, if its answers are
// invalid.
bool takes(const QuestionExamplesJob& job, const LabelledRow& row, const std::string& place,
           QuestionSummary& out) {
  const auto answers = right_answers(row.label, row.pair, place);
  ++out.questions;
  if (answers.empty()) {
    if (!job.no_answer)
      throw UsageError(
          str(place, ": no answer to '", shortened(row.text, 60), "'"),
          "set data.no_answer to true if questions may have no answer, as in SQuAD 2.0");
    ++out.without_answer;
    return true;
  }
  if (std::ranges::any_of(answers, [](const RightAnswer& one) { return one.in_place; }))
    return true;
  if (out.left_out++ == 0)
    log_warning(
        "{}: {}: '{}' is not in the text at answer_start; such questions are skipped in training, "
        "but still evaluated",
        job.what, place, shortened(answers.front().text, 60));
  return false;
}

OrderedJson question_json(const LabelledRow& row) {
  OrderedJson out{{"id", row.id}, {"question", row.text}, {"context", row.pair}};
  out["answers"] = OrderedJson::array();
  for (const RightAnswer& one : right_answers(row.label, row.pair, ""))
    out["answers"].push_back(one.text);
  return out;
}

OrderedJson description_of(const QuestionExamplesJob& job, const QuestionSummary& s) {
  return {{"kind", "classify"},
          {"files", {io::path_name(job.output)}},
          {"examples", s.examples},
          {"seq_length", job.seq_length},
          {"problem", word_of(io::Problem::answer_spans, io::kProblems)},
          {"labels", Json::array()},
          {"no_answer", job.no_answer},
          {"questions", s.questions},
          {"without_answer", s.without_answer},
          {"left_out", s.left_out},
          {"stride", job.windows.stride},
          {"cut", s.cut},
          {"lengths", s.lengths},
          {"vocabulary", {{"file", job.vocab}, {"crc32c", text::vocabulary_crc32c(job.vocab)}}},
          {"text", {{"tokens", s.tokens}, {"unknown_tokens", s.unknown}}}};
}

}  // namespace

std::string questions_file(const std::string& records) { return records + ".questions.jsonl"; }

QuestionSummary write_question_examples(const QuestionExamplesJob& job) {
  const auto wanted =
      wanted_groups(job.rows, job.what, job.split,
                    [](const LabelledRow& row) -> const std::string& { return row.pair; });
  const QuestionEncoder encoder(job);
  RowRecords records(job.output, [&](const LabelledRow& row) { return encoder.encode(row); });
  std::optional<io::OutputFile> questions;
  if (job.keep_questions) questions.emplace(questions_file(job.output));
  QuestionSummary out;
  auto rows = rows_to_write(job.rows, job.what, job.split);
  std::size_t number = 0;
  for (LabelledRow row; rows.next(row); ++number) {
    if (job.split && !wanted.at(number)) continue;
    const bool taken = takes(job, row, rows.place(), out);
    if (questions)
      questions->write(question_json(row).dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n");
    if (taken) records.add(std::move(row));
  }
  static_cast<RowCounts&>(out) = records.finish();
  if (out.examples == 0)
    throw_no_example(job.rows, job.what, job.split, number,
                     "give rows of questions, texts and answers");
  out.lengths = lengths_for(out.tokens_of_each, job.seq_length);
  io::write_file(job.output + ".json", description_of(job, out).dump(2) + "\n");
  text::UnknownCount{
      .unknown = out.unknown, .tokens = out.tokens, .characters = out.unknown_characters}
      .warn(job.what, job.vocab);
  if (questions) questions->commit();
  records.commit();
  return out;
}

}  // namespace smelt::data
