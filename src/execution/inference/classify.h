// What a fine-tuned model says of texts and pairs, in batches of few lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "checkpoint/storage/slices.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/model_state.h"
#include "io/formats/labels.h"
#include "model/tasks/task.h"
#include "text/tokenizers/answer_windows.h"
#include "text/tokenizers/text_pair.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt {

// What a user says of it.
struct ClassifyOptions {
  std::int64_t batch_size = 32;  // texts at a time
  std::int64_t devices = 1;
  // For answer_spans: predict no answer if its logit exceeds the best answer's by more than this.
  double no_answer_threshold = 0;
  bool operator==(const ClassifyOptions&) const = default;
};

struct ClassifyJob : ClassifyOptions {
  // What the model gives for texts of S tokens: f32 [B, outputs] (model/tasks/classify_task.h).
  std::function<Prediction(std::int64_t S)> probabilities;
  Labels labels;
  AnswerLimits answers = {};
  std::int64_t most_tokens = 128;  // of a text; what is longer is cut
  bool exact_products = false;
};

struct PairOfTexts {
  std::string text, pair = {};
};

// A model that is ready to tell: its programs are compiled once for each length and size of batch.
class Classifier {
 public:
  // Of the weights by name, which `owner` keeps alive; `where` begins the message where one is
  // missing.
  Classifier(std::shared_ptr<const Client> client, ClassifyJob job, BertTokenizer tokenizer,
             SlicedTensors weights, std::string where, std::shared_ptr<const void> owner = {});

  // job().labels.outputs() numbers for each text, in their order: probabilities, or of a regression
  // what it comes to; of token_labels so many for each of its words (words_in()) that is not cut
  // off. Not of answer_spans.
  std::vector<std::vector<float>> classify(std::span<const PairOfTexts> texts);
  // The same of texts that are ids already, at most most_tokens each, with their words; of
  // answer_spans two logits for each of those.
  std::vector<std::vector<float>> classify(std::span<const TextPairIds> texts);
  const ClassifyJob& job() const { return job_; }
  const BertTokenizer& tokenizer() const { return *tokenizer_; }
  std::uint64_t cut() const { return cut_; }  // texts so far that were longer than most_tokens
  // The tokens of the texts so far.
  const UnknownCount& tokens() const { return tokens_; }

 private:
  struct Asking {
    StepProgram program;
    std::unique_ptr<const CompiledStep> step;
  };
  const Asking& asking(std::int64_t rows, std::int64_t S);
  bool of_tokens() const { return job_.labels.of_tokens(); }
  std::vector<TextPairIds> encode(std::span<const PairOfTexts> texts) const;
  // Of the texts of these numbers, into `out`.
  void ask(std::span<const std::size_t> numbers, std::span<const TextPairIds> texts,
           std::vector<std::vector<float>>& out);

  std::shared_ptr<const Client> client_;
  ClassifyJob job_;
  std::unique_ptr<const BertTokenizer> tokenizer_;
  TextPairEncoder pairs_;
  ShardingPlan placement_;
  SlicedTensors weights_;
  std::string where_;
  std::shared_ptr<const void> owner_;
  std::map<std::pair<std::int64_t, std::int64_t>, Asking> askings_;  // by rows and S
  std::unique_ptr<const ModelState> state_;                          // on the devices
  std::uint64_t cut_ = 0;
  UnknownCount tokens_;
};

// Returns the predicted classes of a multi_label model: those of a probability of at least 0.5.
std::vector<std::string> predicted_classes(const Labels& labels, std::span<const float> numbers);

// Returns the prediction as text: the most likely class, all predicted ones as class_names_text()
// writes them, or the number. Not of token_labels or answers.
std::string said_label(const Labels& labels, std::span<const float> numbers);

}  // namespace smelt
