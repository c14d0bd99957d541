// Unigram baseline: the loss of a model that predicts each word by its frequency alone. A language
// model should be better.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "execution/inference/evaluate.h"
#include "model/tasks/t5_task.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::pipeline {

struct UnigramJob {
  std::string name;  // name of the metric
  // Files, as open_examples() accepts them.
  std::string train, heldout;
  model::Task task;
  std::string feature;                // feature of the task whose ids are counted
  std::vector<model::IdRange> words;  // ids of words; other ids are ignored
  std::uint64_t examples = 0;         // number of held-out examples to use
};

// Returns the mean of -log p(word) over the words of the held-out examples. p is the word's share
// of the words in the first 4096 training examples, with 1 added to each count.
model::MeasuredValue unigram_measure(const UnigramJob& job);

// Returns the mean number of characters per SentencePiece piece in the held-out examples, over the
// pieces whose ids are in job.words. The space that a piece may begin with counts as a character.
double characters_of_words(const UnigramJob& job, const text::Tokenizer& tokenizer);

}  // namespace smelt::pipeline
