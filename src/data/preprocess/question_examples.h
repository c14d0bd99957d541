// Records of questions on texts with the features of google-research/bert run_squad.py: input_ids,
// input_mask, segment_ids, start_positions, end_positions, and is_real_example
// (docs/reference/formats/tfrecord.md). A window is a record (text/tokenizers/answer_windows.h);
// one in which the answer does not stand whole has [CLS], 0, for both positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/row_records.h"
#include "text/tokenizers/answer_windows.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

struct QuestionExamplesJob {
  LabelledFiles rows;                  // text: the question; pair: the text; label: the answers
  std::string what = "data.train";     // names rows.input in messages
  std::optional<RowSplit> split = {};  // of texts: all questions on one are on one side
  bool no_answer = false;              // whether a question may have none
  std::string vocab;                   // word pieces
  TokenizerFlags tokenizer;
  std::int64_t seq_length = 384;
  WindowRules windows = {};
  std::string output;           // replaced if there
  bool keep_questions = false;  // as questions_file() has them, for whom answers them
};

struct QuestionSummary : RowCounts {  // cut: windows whose question was
  std::uint64_t questions = 0;
  std::uint64_t without_answer = 0;  // of which none is right
  std::uint64_t left_out = 0;        // questions whose answers do not stand where they say
  std::vector<std::int64_t> lengths;
};

// Records in the order of the rows, the same for any number of threads, with their index and
// description. The first right answer that stands in its place is learned. UsageError for rows that
// cannot be read, a question without an answer where `no_answer` is false, or no row at all.
QuestionSummary write_question_examples(const QuestionExamplesJob& job);

// Beside records: their questions as JSONL, {"id", "question", "context", "answers": [text]}.
std::string questions_file(const std::string& records);

}  // namespace smelt
