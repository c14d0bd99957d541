// Batched inference with a fine-tuned classifier, for texts and pairs of texts.
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

namespace smelt::execution {

// Settings that a user can choose.
struct ClassifyOptions {
  std::int64_t batch_size = 32;  // texts per batch
  std::int64_t devices = 1;
  // For answer_spans: predict no answer if its logit exceeds the best answer's by more than this.
  double no_answer_threshold = 0;
  bool operator==(const ClassifyOptions&) const = default;
};

struct ClassifyJob : ClassifyOptions {
  // Returns the prediction for texts of S tokens: f32 [B, outputs] (model/tasks/classify_task.h).
  std::function<model::Prediction(std::int64_t S)> probabilities;
  io::Labels labels;
  io::AnswerLimits answers = {};
  std::int64_t most_tokens = 128;  // per text; longer texts are truncated
  bool exact_products = false;     // HloForm::exact_products
};

struct PairOfTexts {
  std::string text, pair = {};
};

// A loaded classifier. Compiles one program for each padded length and batch size.
class Classifier {
 public:
  // `owner` keeps the memory of `weights` alive. `where` begins the error message if a weight is
  // missing.
  Classifier(std::shared_ptr<const pjrt::Client> client, ClassifyJob job,
             text::BertTokenizer tokenizer, checkpoint::SlicedTensors weights, std::string where,
             std::shared_ptr<const void> owner = {});

  // Returns, for each text in order, job().labels.outputs() numbers: class probabilities, or the
  // predicted value for a regression. For token_labels returns labels.outputs() numbers for each
  // word (words_in()) that was not truncated. Not for answer_spans.
  std::vector<std::vector<float>> classify(std::span<const PairOfTexts> texts);
  // Does the same for tokenized texts of at most most_tokens tokens. For token_labels each text
  // needs TextPairIds::words. For answer_spans returns two logits for each position in
  // TextPairIds::words.
  std::vector<std::vector<float>> classify(std::span<const text::TextPairIds> texts);
  const ClassifyJob& job() const { return job_; }
  const text::BertTokenizer& tokenizer() const { return *tokenizer_; }
  std::uint64_t cut() const { return cut_; }  // texts truncated so far
  // Counts of tokens and unknown tokens so far.
  const text::UnknownCount& tokens() const { return tokens_; }

 private:
  struct CompiledModel {
    model::StepProgram program;
    std::unique_ptr<const CompiledStep> step;
  };
  const CompiledModel& compiled(std::int64_t rows, std::int64_t S);
  bool of_tokens() const { return job_.labels.of_tokens(); }
  std::vector<text::TextPairIds> encode(std::span<const PairOfTexts> texts) const;
  // Predicts one batch, the texts with these indices, and writes their results to `out`.
  void predict_batch(std::span<const std::size_t> numbers, std::span<const text::TextPairIds> texts,
                     std::vector<std::vector<float>>& out);

  std::shared_ptr<const pjrt::Client> client_;
  ClassifyJob job_;
  std::unique_ptr<const text::BertTokenizer> tokenizer_;
  text::TextPairEncoder pairs_;
  model::ShardingPlan placement_;
  checkpoint::SlicedTensors weights_;
  std::string where_;
  std::shared_ptr<const void> owner_;
  std::map<std::pair<std::int64_t, std::int64_t>, CompiledModel> compiled_;  // key: rows and S
  std::unique_ptr<const ModelState> state_;                                  // on the devices
  std::uint64_t cut_ = 0;
  text::UnknownCount tokens_;
};

// Returns the predicted classes of a multi_label model: those with a probability of at least 0.5.
std::vector<std::string> predicted_classes(const io::Labels& labels,
                                           std::span<const float> numbers);

// Returns the prediction as text: the most likely class, all predicted classes in the format of
// class_names_text(), or the number. Not for token_labels or answer_spans.
std::string said_label(const io::Labels& labels, std::span<const float> numbers);

}  // namespace smelt::execution
