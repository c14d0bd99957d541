// Inference with a trained model: a run, a checkpoint of smelt's or TensorFlow's, or a Hugging Face
// folder, quantized or not. Texts go in, plain structs come out.
//
//   #include <iostream>
//
//   #include "pipeline/objectives/pretrained_model.h"
//
//   // Prints what a model can tell about two texts.
//   void describe(const std::string& folder) {
//     using namespace smelt::pipeline;
//     const std::vector<std::string> texts{"the cat sees a dog", "a dog likes the cat"};
//     PretrainedModel model = PretrainedModel::load(folder, {.device = "cpu", .batch_size = 8});
//     for (const Embedding& one : model.embed(texts))
//       std::cout << one.mean.size() << " numbers, the first " << one.mean.front() << "\n";
//     if (model.can(InferenceTask::score))
//       for (const TextScore& one : model.score(texts))
//         std::cout << one.log_likelihood / one.tokens << " a token\n";
//     if (model.can(InferenceTask::fill_mask))
//       for (const auto& guess : model.fill_mask({"the [MASK] sees a dog"}, 3)[0].masks[0])
//         std::cout << guess.token << " " << guess.probability << "\n";
//   }
//
// A test compiles and runs this text (tests/pipeline/objectives/inference_example.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/lazy_files.h"
#include "execution/inference/answer_spans.h"
#include "execution/inference/text_embedder.h"
#include "pipeline/config/objective_type.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::pipeline {

enum class InferenceTask { fill_mask, detect, classify, generate, evaluate_text, embed, score };

struct LoadOptions {
  // The task to use the model for. load() throws UsageError if models of its type cannot do it.
  std::optional<InferenceTask> task = {};
  std::string command = {};       // messages begin with it; empty: the command of `task`, or "load"
  std::string vocab = {};         // empty: the vocabulary in the model's folder
  std::string device = "cpu";     // cpu, gpu, tpu or auto
  std::string precision = "f32";  // or f32_exact
  text::TokenizerFlags tokenizer = {};  // overrides the settings stored with the vocabulary
  std::int64_t batch_size = 32;  // texts per batch in embed(), masked rows per batch in score()
  std::int64_t max_length =
      0;  // embed() truncates texts to this many tokens; 0: the model's maximum
};

// The prediction for a text: a class, the classes of a multi_label model in the format of
// class_names_text(), or a number for regression.
struct TextLabel {
  std::string label;
  float probability = 0;       // probability of the class for single_label, otherwise 0
  std::vector<float> outputs;  // probabilities in the order of labels(); for regression the number
};

struct TokenLabel {
  std::string word, label;
  std::size_t begin = 0, end = 0;  // byte offsets in the text
  float probability = 0;
};

// Embedding of a text: hidden states of the encoder's last layer.
struct Embedding {
  std::vector<float> mean;   // mean over the tokens of the text, including [CLS] and [SEP]
  std::vector<float> first;  // hidden state of [CLS]
};

// Settings that replace those of an embedding model.
struct EmbedChoice {
  std::optional<io::Pooling> pooling = {};  // required for other models
  std::optional<bool> normalize = {};
  std::int64_t max_length = 0;  // tokens per text; 0: LoadOptions::max_length
  bool operator==(const EmbedChoice&) const = default;
};

// The pseudo-log-likelihood of a text (Salazar et al. 2020): the sum of log p over its tokens, each
// masked in turn.
struct TextScore {
  double log_likelihood = 0;
  std::int64_t tokens = 0;  // without [CLS] and [SEP]
};

struct TextToEvaluate {
  text::DocumentOptions text;
  std::int64_t seq_length = 128;  // tokens per example, at most the model's number of positions
  std::int64_t batch_size = 32;   // reduced to the number of examples
  std::int64_t seed = 12345;      // random seed of sentence pairs, masks and sampling
};

struct EvaluatedText {
  data::CorpusCounts text;
  execution::Evaluation evaluation;
  std::int64_t seq_length = 0;  // tokens of an example
  BaselineMeasures baseline;    // for verdict() (pipeline/stages/evaluation.h)
};

// The newest checkpoint of a run and the settings to load it with.
struct TrainedRun {
  const ObjectiveType* type = nullptr;
  Json settings;  // settings of its task
  std::string model_dir, vocab;
  text::TokenizerFlags tokenizer = {};
  bool averaged = true;  // see load_trained_model()
};

// Returns whether the path is a model folder or checkpoint of any format, and not a recipe.
bool is_stored_model(const std::string& path);

// A trained model for inference. Weights are loaded into host memory and copied to the device at
// the first inference. If the checkpoint has moving averages of the weights, they are used instead.
// A task that the model does not support throws UsageError; its hint names the supported tasks.
class PretrainedModel {
 public:
  // Loads a model. If `path` is a run's folder, uses its recipe, otherwise the files in the folder.
  // Throws UsageError if the vocabulary or the sizes are unknown, if the model was trained with
  // another vocabulary, and as open_stored_model() does.
  static PretrainedModel load(const std::string& path, const LoadOptions& options = {});
  // Loads the files of a folder or checkpoint and ignores any recipe.
  static PretrainedModel of_folder(const std::string& path, const LoadOptions& options = {});
  // Loads the newest checkpoint of a recipe's run. Uses the device, precision, vocabulary and
  // tokenizer of the recipe.
  static PretrainedModel of_recipe(const Recipe& recipe, LoadOptions options = {});
  static PretrainedModel of_run(const TrainedRun& run, const LoadOptions& options);

  bool can(InferenceTask task) const;
  // Returns the labels of a classifier.
  const io::Labels& labels();

  // Throws UsageError for a text without [MASK] or longer than the model's positions.
  std::vector<execution::FilledText> fill_mask(const std::vector<std::string>& texts,
                                               std::int64_t top = 5);
  // Returns the probability that each token was replaced, from an ELECTRA discriminator.
  std::vector<std::vector<execution::JudgedToken>> detect(const std::vector<std::string>& texts);
  // Classifies texts and pairs.
  std::vector<TextLabel> classify(std::span<const execution::PairOfTexts> texts,
                                  const execution::ClassifyOptions& options = {});
  // Labels the words of texts, which are separated by spaces. Omits words beyond the model's
  // maximum length.
  std::vector<std::vector<TokenLabel>> token_labels(const std::vector<std::string>& texts,
                                                    const execution::ClassifyOptions& options = {});
  // Finds the answers to questions in their contexts.
  std::vector<execution::FoundAnswer> answer_question(
      std::span<const execution::TextQuestion> questions,
      const execution::ClassifyOptions& options = {});
  // Returns options.search.answers texts for each text, best first.
  std::vector<std::vector<execution::Answer>> generate(
      const std::vector<std::string>& texts, const execution::GenerateOptions& options = {});
  std::vector<Embedding> embed(const std::vector<std::string>& texts);
  // Returns new objects that compute the embeddings of an embedding model: of tokenized texts, and
  // of texts. Throws UsageError if the model is not an embedding model and `how` has no pooling.
  execution::Embedder embedder(std::int64_t batch_size, const EmbedChoice& how = {}) const;
  execution::TextEmbedder text_embedder(std::int64_t batch_size, const EmbedChoice& how = {}) const;
  std::vector<TextScore> score(const std::vector<std::string>& texts);
  // Evaluates a pretrained model on its pretraining objective. Makes examples from the text in a
  // temporary folder. Throws UsageError if the text is too short.
  EvaluatedText evaluate_text(const TextToEvaluate& text) const;

  // Return new objects of the kind that classify() and generate() use internally, for streams of
  // batches and for token ids.
  execution::Classifier classifier(const execution::ClassifyOptions& options = {}) const;
  execution::Generator generator(const execution::GenerateOptions& options = {}) const;

 private:
  PretrainedModel() = default;
  // Throws UsageError if the model does not support the task, with a hint that lists the supported
  // tasks.
  void require(InferenceTask task) const;
  text::BertTokenizer tokenizer() const;
  bool exact() const { return options_.precision == "f32_exact"; }
  execution::EmbedJob embed_job_of(std::int64_t batch_size, const EmbedChoice& how) const;
  // Returns the weights as floats, for programs without int8 matmuls.
  execution::HostWeights floats() const;
  // Returns a classifier with these options and caches it for the next call.
  execution::Classifier& kept_classifier(const execution::ClassifyOptions& options);

  LoadOptions options_;
  checkpoint::StoredModel model_;
  const ObjectiveType* type_ = nullptr;
  execution::HostWeights weights_;

  std::optional<execution::MaskFiller> filler_;
  std::int64_t top_ = 0;  // number of guesses per mask that filler_ returns
  std::optional<execution::Detector> detector_;
  std::optional<execution::Classifier> classifier_;
  execution::ClassifyOptions classify_options_;
  std::optional<execution::Generator> generator_;
  execution::GenerateOptions generate_options_;
  std::optional<execution::RowModel> encoder_, scorer_;
};

// Returns the fill-mask job of a model that is not trained yet, from its type and the settings of
// its task.
execution::FillMaskJob fill_job_to_train(const ObjectiveType& type, const model::Task& task);

}  // namespace smelt::pipeline
