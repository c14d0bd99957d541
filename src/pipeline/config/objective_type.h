// A kind of model that a recipe can name as its model.type: its recipe fields, how its examples are
// made, and its task. Commands and stages use a kind of model only through this interface.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/interop/stored_model.h"
#include "data/preprocess/example_job.h"
#include "execution/inference/classify.h"
#include "execution/inference/detect.h"
#include "execution/inference/evaluate.h"
#include "execution/inference/fill_mask.h"
#include "execution/inference/generate.h"
#include "execution/inference/state_measures.h"
#include "io/formats/config.h"
#include "model/tasks/task.h"
#include "pipeline/config/recipe.h"
#include "pipeline/config/record_report.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {

// The split that examples are made from. Test examples are made after the others.
enum class ExampleSet { train, heldout, test };

// Names of two metrics of an evaluation: the accuracy of the model (`measure`) and that of a
// baseline without a model (`of`). If is_loss, both are losses.
struct BaselineMeasures {
  std::string measure, of;
  std::string meaning;  // what the baseline does: "always the most frequent token"
  bool is_loss = false;
};

// Source of the training examples.
enum class Reads {
  text,     // text.input, with a vocabulary that is made from it or given
  rows,     // labelled texts in the files of the section data, with a given vocabulary
  nothing,  // neither text nor vocabulary; these stages are skipped
};

// An example of a prediction and its label in the format of predictions.jsonl. Used to check before
// training whether a metric fits the model's predictions.
struct SamplePrediction {
  Json prediction = "a", label = "a";
  bool of_words = false;  // each is a list of word labels
};

// How to evaluate a model on any text.
struct EvaluateTextJob {
  // Maximum tokens of an example: the model's number of positions.
  std::int64_t max_tokens = 0;
  // Writes records of `seq_length` tokens. Throws UsageError if the text has no words. If this
  // function is empty, records are sequences without masks (data/preprocess/electra_examples.h).
  std::function<data::ExampleSummary(
      const data::ExampleJob& job, const text::TokenizerFlags& tokenizer, std::int64_t seq_length)>
      make_examples = {};
  std::function<model::Task(std::int64_t seq_length, const std::string& records,
                            const text::Vocabulary& vocabulary)>
      task;
};

// Functions that create the job of each inference task; empty if models of the type do not support
// the task. Each throws UsageError if the model lacks the head that the task needs. For a model
// that is not trained yet, StoredModel contains only the names and shapes of its tensors.
struct InferenceJobs {
  std::function<execution::FillMaskJob(const checkpoint::StoredModel&)> fill_mask = {};
  std::function<execution::DetectJob(const checkpoint::StoredModel&)> detect = {};
  std::function<execution::ClassifyJob(const checkpoint::StoredModel&)> classify = {};
  std::function<execution::GenerateJob(const checkpoint::StoredModel&)> generate = {};
  std::function<EvaluateTextJob(const checkpoint::StoredModel&)> evaluate_text = {};
  bool embeds = false;  // whether `smelt embed` works with the models
  // If a run trains two models: the subfolder of the exported folder that each command needs, such
  // as {"detect", "discriminator"}.
  std::map<std::string, std::string> exported = {};
};

// Only name, help, model, data, make_examples and task are required.
struct ObjectiveType {
  std::string name;
  std::string help;  // one line
  // Fields of the recipe's sections `model` and `data`.
  std::vector<io::ConfigField> model, data;
  // Handling of control characters, if it differs from the default tokenizer's.
  std::optional<text::ControlCharacters> control = {};
  // Returns values for fields that are unset, derived from `set`, the fields that are set.
  std::function<FieldValues(const FieldValues& set)> preset = {};
  // Returns the config of the model in a folder of weights. Throws UsageError, which begins with
  // `where`, if the folder has no config. Set only if all values of the config are recipe fields.
  std::function<Json(const std::string& weights, const std::string& where)> sizes_of_weights = {};
  // Throws UsageError if values do not fit each other.
  std::function<void(const Recipe&)> check = [](const Recipe&) {};
  std::string records = "tfrecord";  // file name extension of its examples
  Reads reads = Reads::text;
  bool reads_text() const { return reads == Reads::text; }
  bool has_vocabulary() const { return reads != Reads::nothing; }
  // Fields of the section `model` that the examples depend on.
  std::vector<std::string> example_fields = {};
  // Fields of the section `data` that the examples do not depend on.
  std::vector<std::string> beside_examples = {};
  // For Reads::rows: returns the files of rows in the section `data`.
  std::function<std::vector<std::string>(const Recipe&)> rows = {};
  // Reads the rows that are on this machine. Throws the UsageError that a run would throw for them.
  std::function<void(const Recipe&)> check_rows = {};
  // Writes the rows of a split as JSONL with text, label and, if there is a second text, pair.
  // Returns the number of rows. Only models of types with this function can be compressed
  // (pipeline/compression/compress_stage.h).
  std::function<std::uint64_t(const Recipe&, ExampleSet, const std::string& file)> write_rows = {};
  // Makes records from text and vocabulary. Returns the number of examples.
  std::function<std::uint64_t(const Recipe&, ExampleSet)> make_examples;
  std::function<model::Task(const Recipe&)> task;
  // Returns the teacher for knowledge distillation of a model of this type; empty if not supported.
  // Throws UsageError, which begins with the teacher's `where`, if the teacher has another task.
  std::function<model::Teacher(const Recipe&, const checkpoint::StoredModel&, model::FrozenModel)>
      teacher = {};
  RecordReport record_report = {};  // how `smelt data inspect` reports its examples
  // Returns files to write next to the checkpoints, by name, such as the original program's config.
  std::function<std::map<std::string, std::string>(const Recipe&)> model_files = [](const Recipe&) {
    return std::map<std::string, std::string>();
  };
  // Returns one line of text about an evaluation, or an empty string.
  std::function<std::string(const Recipe&, const execution::Evaluation&)> remark =
      [](const Recipe&, const execution::Evaluation&) { return std::string(); };
  // Returns a sentence on the results that models of this size usually reach; empty if unknown.
  std::function<std::string(const Recipe&)> typical = [](const Recipe&) { return std::string(); };
  // Returns metrics that are computed on the host, in addition to those of the model's program.
  std::function<std::vector<model::MeasuredValue>(const Recipe&, const execution::Evaluation&)>
      more_measures = {};
  // Writes a prediction for each example of RecipePaths::scored. Returns metrics of the
  // predictions, which are added to those of the model's program and replace metrics of the same
  // name.
  std::function<std::vector<model::MeasuredValue>(const Recipe&)> write_predictions = {};
  // Names of metrics that need generated or decoded predictions, which are also computed during
  // training. Like those of the model's program they are valid for train.checkpoint.best_metric.
  std::vector<std::string> generated_measures = {};
  // Returns the object that computes generated_measures.
  std::function<std::unique_ptr<execution::StateMeasures>(const Recipe&,
                                                          std::shared_ptr<const pjrt::Client>)>
      state_measures = {};
  // Returns the metric that compares runs by default (evaluation/metrics/named.h); empty if it
  // depends on labels that are known once the examples are made.
  std::function<std::string(const Recipe&)> metric = [](const Recipe&) { return "accuracy"; };
  // Returns the names of the classes that can be predicted; empty if they are unknown or if the
  // prediction is free text.
  std::function<std::vector<std::string>(const Recipe&)> classes = {};
  // Returns a prediction and its label in the format of write_predictions.
  std::function<SamplePrediction(const Recipe&)> sample_prediction = [](const Recipe&) {
    return SamplePrediction();
  };
  // Returns the sampler that prints predictions for the texts of track.fill at each evaluation. If
  // this function is empty, inference.fill_mask is used if the type supports it.
  std::function<std::unique_ptr<const execution::TextSampler>(
      const Recipe&, std::vector<std::string> texts, std::shared_ptr<const pjrt::Client>,
      const model::ShardingPlan&)>
      sampler = {};
  BaselineMeasures baseline = {};  // empty: none
  bool weighs_classes = false;     // supports train.class_weights and train.label_smoothing
  bool shards = false;             // make_examples can write several files (data.shards)
  bool sentencepiece = false;      // supports a SentencePiece vocabulary
  // Control pieces of a vocabulary that is made from the text.
  std::vector<std::string> special_pieces = {"[MASK]"};
  InferenceJobs inference =
      {};  // inference with a trained model (pipeline/objectives/pretrained_model.h)
  // Writes a Hugging Face folder; empty if transformers has no such model.
  std::function<void(const Recipe&, const std::string& folder)> export_folder;
};

}  // namespace smelt::pipeline
