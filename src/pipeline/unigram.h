// How well words are told by how often each occurs: what a model of text must beat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "execution/inference/evaluate.h"
#include "model/tasks/t5_task.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt {

struct UnigramJob {
  std::string name;            // of the measure
  std::string train, heldout;  // as open_examples takes them
  Task task;
  std::string feature;         // of the task's, whose ids are counted
  std::vector<IdRange> words;  // ids that are words, the others are left out
  std::uint64_t examples = 0;  // held-out ones, from the first on
};

// The mean of -log p(word) over the held-out examples' words, where p is a word's share of the
// words of 4096 training examples in order, each counted once more than it occurs.
MeasuredValue unigram_measure(const UnigramJob& job);

// The mean number of characters that a word of the held-out examples stands for, the space before
// it counted. The tokenizer is SentencePiece's.
double characters_of_words(const UnigramJob& job, const Tokenizer& tokenizer);

}  // namespace smelt
