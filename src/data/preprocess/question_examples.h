// Writes question-answering records with the features of google-research/bert run_squad.py:
// input_ids, input_mask, segment_ids, start_positions, end_positions, and is_real_example
// (docs/reference/formats/tfrecord.md). Each window (text/tokenizers/answer_windows.h) is a record.
// If a window does not contain the whole answer, both positions are 0, that of [CLS].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/row_records.h"
#include "text/tokenizers/answer_windows.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::data {

struct QuestionExamplesJob {
  LabelledFiles rows;  // columns: text is the question, pair the context, label the answers
  std::string what = "data.train";  // name of rows.input in messages
  // splits by context: all questions on a context are in the same part
  std::optional<RowSplit> split = {};
  bool no_answer = false;  // whether a question may have no answer
  std::string vocab;       // WordPiece vocabulary
  text::TokenizerFlags tokenizer;
  std::int64_t seq_length = 384;
  text::WindowRules windows = {};
  std::string output;           // overwritten
  bool keep_questions = false;  // also write questions_file(), for inference
};

struct QuestionSummary : RowCounts {  // `cut` counts windows whose question was truncated
  std::uint64_t questions = 0;
  std::uint64_t without_answer = 0;  // windows without an answer
  std::uint64_t left_out = 0;        // questions skipped because no answer is at its answer_start
  std::vector<std::int64_t> lengths;
};

// Writes the records of each question in input order, and next to them the record index and a
// description (docs/reference/formats/description.md). The result does not depend on the number of
// threads. The label is the first answer whose text is found at its answer_start. Throws UsageError
// if rows cannot be read, the files are empty, or a question has no answer and `no_answer` is
// false.
QuestionSummary write_question_examples(const QuestionExamplesJob& job);

// Returns the path of the questions that accompany `records`, as JSONL: {"id", "question",
// "context", "answers": [text]}.
std::string questions_file(const std::string& records);

}  // namespace smelt::data
