// Inference with a trained model: a run, a checkpoint of smelt's or TensorFlow's, or a Hugging Face
// folder, quantized or not. Texts go in, plain structs come out.
//
//   #include <iostream>
//
//   #include "pipeline/pretrained_model.h"
//
//   // Prints what a model can tell about two texts.
//   void describe(const std::string& folder) {
//     using namespace smelt;
//     const std::vector<std::string> texts{"the cat sees a dog", "a dog likes the cat"};
//     PretrainedModel model = PretrainedModel::load(folder, {.device = "cpu", .batch_size = 8});
//     for (const Embedding& one : model.embed(texts))
//       std::cout << one.mean.size() << " numbers, the first " << one.mean.front() << "\n";
//     if (model.can(InferenceTask::score))
//       for (const TextScore& one : model.score(texts))
//         std::cout << one.log_likelihood / one.tokens << " a token\n";
//     if (model.can(InferenceTask::fill_mask))
//       for (const MaskGuess& guess : model.fill_mask({"the [MASK] sees a dog"}, 3)[0].masks[0])
//         std::cout << guess.token << " " << guess.probability << "\n";
//   }
//
// A test compiles and runs this text (tests/pipeline/inference_example.cpp).
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
#include "pipeline/objective_type.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt {

enum class InferenceTask { fill_mask, detect, classify, generate, evaluate_text, embed, score };

struct LoadOptions {
  // What the model is for. load() throws UsageError if models of its type cannot do it.
  std::optional<InferenceTask> task = {};
  std::string command = {};       // begins messages; empty: the command of `task`, or "load"
  std::string vocab = {};         // empty: the vocabulary beside the model
  std::string device = "cpu";     // cpu, gpu, tpu or auto
  std::string precision = "f32";  // or f32_exact
  TokenizerFlags tokenizer = {};  // over what is stored beside the vocabulary
  std::int64_t batch_size = 32;   // texts at a time, of embed(); masked rows of score()
  std::int64_t max_length = 0;    // tokens of a text for embed(), which truncates; 0: the model's
};

// A class, the classes of a multi_label model as class_names_text() has them, or the number of a
// regression.
struct TextLabel {
  std::string label;
  float probability = 0;       // of a single label, else 0
  std::vector<float> outputs;  // probabilities in the order of labels(); or the number
};

struct TokenLabel {
  std::string word, label;
  std::size_t begin = 0, end = 0;  // its bytes in the text
  float probability = 0;
};

// The last layer of an encoder.
struct Embedding {
  std::vector<float> mean;   // over the tokens of the text, [CLS] and [SEP] included
  std::vector<float> first;  // of [CLS]
};

// The pseudo-log-likelihood of a text (Salazar et al. 2020): the sum of log p of each token while
// it alone is masked.
struct TextScore {
  double log_likelihood = 0;
  std::int64_t tokens = 0;  // without [CLS] and [SEP]
};

struct TextToEvaluate {
  DocumentOptions text;
  std::int64_t seq_length = 128;  // tokens of an example, at most the model's positions
  std::int64_t batch_size = 32;   // at most as many as there are examples
  std::int64_t seed = 12345;      // of the pairs, the masks and what a task draws
};

struct EvaluatedText {
  CorpusCounts text;
  Evaluation evaluation;
  std::int64_t seq_length = 0;  // tokens of an example
  BaselineMeasures baseline;    // of its type, for verdict() (pipeline/evaluation.h)
};

// The newest checkpoint of a run and the settings that it is used with.
struct TrainedRun {
  const ObjectiveType* type = nullptr;
  Json settings;  // of its task
  std::string model_dir, vocab;
  TokenizerFlags tokenizer = {};
  bool averaged = true;  // as load_trained_model() has it
};

// Returns whether the path is a model's folder or checkpoint of any form, not a recipe.
bool is_stored_model(const std::string& path);

// A model in host memory, which its first inference puts on a device. Moving averages of weights,
// if there are any, take their place. A task that the model lacks throws UsageError, whose hint
// names what it can do.
class PretrainedModel {
 public:
  // Loads what `path` names. A run's folder is loaded as its recipe says, anything else by the
  // files in it. Throws UsageError if the vocabulary or the sizes are not known, if the vocabulary
  // is not the one that the model was made with, and as open_stored_model() does.
  static PretrainedModel load(const std::string& path, const LoadOptions& options = {});
  // Loads the files of a folder or checkpoint, even if it is a run's.
  static PretrainedModel of_folder(const std::string& path, const LoadOptions& options = {});
  // Loads the newest checkpoint that a recipe has made. Device, precision, vocabulary and tokenizer
  // are the recipe's.
  static PretrainedModel of_recipe(const Recipe& recipe, LoadOptions options = {});
  static PretrainedModel of_run(const TrainedRun& run, const LoadOptions& options);

  bool can(InferenceTask task) const;
  // Labels of a classifier.
  const Labels& labels();

  // Throws UsageError for a text without [MASK] or longer than the model's positions.
  std::vector<FilledText> fill_mask(const std::vector<std::string>& texts, std::int64_t top = 5);
  // Returns how probably each token of each text was replaced, by an ELECTRA's discriminator.
  std::vector<std::vector<JudgedToken>> detect(const std::vector<std::string>& texts);
  // Classifies texts and pairs.
  std::vector<TextLabel> classify(std::span<const PairOfTexts> texts,
                                  const ClassifyOptions& options = {});
  // Labels the words of texts, which spaces separate. Words that do not fit into the model's length
  // are left out.
  std::vector<std::vector<TokenLabel>> token_labels(const std::vector<std::string>& texts,
                                                    const ClassifyOptions& options = {});
  // Finds the answers to questions in their contexts.
  std::vector<FoundAnswer> answer_question(std::span<const TextQuestion> questions,
                                           const ClassifyOptions& options = {});
  // Returns options.search.answers texts for each text, best first.
  std::vector<std::vector<Answer>> generate(const std::vector<std::string>& texts,
                                            const GenerateOptions& options = {});
  std::vector<Embedding> embed(const std::vector<std::string>& texts);
  std::vector<TextScore> score(const std::vector<std::string>& texts);
  // Evaluates the objective of a pretrained model on examples that are made of the text in a
  // temporary folder. Throws UsageError for too little text.
  EvaluatedText evaluate_text(const TextToEvaluate& text) const;

  // What classify() and generate() use, for streams of batches and for token ids.
  Classifier classifier(const ClassifyOptions& options = {}) const;
  Generator generator(const GenerateOptions& options = {}) const;

 private:
  PretrainedModel() = default;
  // Throws UsageError if the model cannot do it, with a hint that names what it can do.
  void require(InferenceTask task) const;
  BertTokenizer tokenizer() const;
  bool exact() const { return options_.precision == "f32_exact"; }
  // The weights as floats, for programs that do not multiply int8 codes.
  HostWeights floats() const;
  // The classifier of the options, which is kept for the next call.
  Classifier& kept_classifier(const ClassifyOptions& options);

  LoadOptions options_;
  StoredModel model_;
  const ObjectiveType* type_ = nullptr;
  HostWeights weights_;

  std::optional<MaskFiller> filler_;
  std::int64_t top_ = 0;  // of filler_
  std::optional<Detector> detector_;
  std::optional<Classifier> classifier_;
  ClassifyOptions classify_options_;
  std::optional<Generator> generator_;
  GenerateOptions generate_options_;
  std::optional<RowModel> encoder_, scorer_;
};

// Returns the job that fills masks for a model of the type that is not trained yet, by the settings
// of its task.
FillMaskJob fill_job_to_train(const ObjectiveType& type, const Task& task);

}  // namespace smelt
