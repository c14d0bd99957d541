// How well a stored model does on any text: what a type of model needs to be scored on it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/preprocess/example_job.h"
#include "model/tasks/task.h"
#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

struct TextToScore {
  DocumentOptions text;
  std::int64_t seq_length = 128;  // tokens of an example, at most the model's positions
  std::int64_t batch_size = 32;   // at most as many as there are examples
  std::int64_t seed = 12345;      // of the pairs, the masks and what a task draws
};

struct ScoreTextJob {
  std::int64_t max_tokens = 0;  // the model's positions
  // From text to records of so many tokens: how many there are. UsageError for text without words.
  std::function<ExampleSummary(const ExampleJob& job, const TokenizerFlags& tokenizer,
                               std::int64_t seq_length)>
      make_examples;
  std::function<Task(std::int64_t seq_length, const std::string& records,
                     const Vocabulary& vocabulary)>
      task;
};

}  // namespace smelt
