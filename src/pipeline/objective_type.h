// A kind of model that a recipe can name as its model.type: what it adds to a recipe, how its
// examples are made and what its task is. Commands and stages know no more of it.
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
#include "pipeline/recipe.h"
#include "pipeline/record_report.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

// Which part of the text, or of the rows, examples are made of. Those of a test are made once the
// others are there.
enum class ExampleSet { train, heldout, test };

// A share of right answers, and that of the best answer without a model, by their names in an
// evaluation; or two losses.
struct BaselineMeasures {
  std::string measure, of;
  std::string meaning;  // what the baseline does: "always the most frequent token"
  bool is_loss = false;
};

// What examples are made of.
enum class Reads {
  text,     // of text.input, with a vocabulary that is made of it or given
  rows,     // of files of labelled texts, which data: names, with a given vocabulary
  nothing,  // no text and no vocabulary, nor the stages of both
};

// A prediction and its label as predictions.jsonl has them, to check a metric before training.
struct SamplePrediction {
  Json said = "a", is = "a";
  bool of_words = false;  // lists of labels of words
};

// How a model is evaluated on any text.
struct EvaluateTextJob {
  std::int64_t max_tokens = 0;  // the model's positions
  // Writes records of so many tokens. Throws UsageError for text without words. Empty: sequences
  // without masks (data/preprocess/electra_examples.h).
  std::function<ExampleSummary(const ExampleJob& job, const TokenizerFlags& tokenizer,
                               std::int64_t seq_length)>
      make_examples = {};
  std::function<Task(std::int64_t seq_length, const std::string& records,
                     const Vocabulary& vocabulary)>
      task;
};

// Makes the job of each inference task; empty if models of the type cannot do it. Each throws
// UsageError if the model lacks the head that the task needs. A model that is not trained yet has
// the names and shapes of its tensors only.
struct InferenceJobs {
  std::function<FillMaskJob(const StoredModel&)> fill_mask = {};
  std::function<DetectJob(const StoredModel&)> detect = {};
  std::function<ClassifyJob(const StoredModel&)> classify = {};
  std::function<GenerateJob(const StoredModel&)> generate = {};
  std::function<EvaluateTextJob(const StoredModel&)> evaluate_text = {};
};

struct ObjectiveType {
  std::string name;
  std::string help;                               // a line
  std::vector<ConfigField> model, data;           // the fields under model: and data:
  std::optional<ControlCharacters> control = {};  // of its tokenizer, where that is another's
  // What fields that are set, as they are written, say of those that are not, by their paths.
  std::function<FieldValues(const FieldValues& set)> preset = {};
  // Returns the config of the model in a folder of weights, for a student whose recipe has fields
  // for all sizes. Unset: the recipe has none. UsageError begins with `where`.
  std::function<Json(const std::string& weights, const std::string& where)> sizes_of_weights = {};
  // UsageError for values that do not fit each other.
  std::function<void(const Recipe&)> check = [](const Recipe&) {};
  std::string records = "tfrecord";  // what files of its examples end in
  Reads reads = Reads::text;
  bool reads_text() const { return reads == Reads::text; }
  bool has_vocabulary() const { return reads != Reads::nothing; }
  std::vector<std::string> example_fields = {};   // those under model: that its examples depend on
  std::vector<std::string> beside_examples = {};  // those under data: that they do not depend on
  // Of Reads::rows: the files, as data: names them.
  std::function<std::vector<std::string>(const Recipe&)> rows = {};
  // Reads the rows that are on this machine and throws the UsageError with which a run would refuse
  // them.
  std::function<void(const Recipe&)> check_rows = {};
  // Writes the rows of a part as JSONL of text, label and, where there is a second text, pair; how
  // many there are. Models of such types can become smaller (pipeline/compress_stage.h).
  std::function<std::uint64_t(const Recipe&, ExampleSet, const std::string& file)> write_rows = {};
  // From text and vocabulary to records; how many examples there are.
  std::function<std::uint64_t(const Recipe&, ExampleSet)> make_examples;
  std::function<Task(const Recipe&)> task;
  // What distill.teacher says, for a model of this type to be held to; empty: it cannot be.
  // UsageError, which the model's `where` begins, for one that answers no such question.
  std::function<Teacher(const Recipe&, const StoredModel&, FrozenModel)> teacher = {};
  RecordReport record_report = {};  // of its examples' files
  // Files to write beside the checkpoints, by name: the original's configuration.
  std::function<std::map<std::string, std::string>(const Recipe&)> model_files = [](const Recipe&) {
    return std::map<std::string, std::string>();
  };
  // A line for a person about an evaluation, or nothing.
  std::function<std::string(const Recipe&, const Evaluation&)> remark =
      [](const Recipe&, const Evaluation&) { return std::string(); };
  // A sentence on the figures that models of such a size usually reach; empty if none are known.
  std::function<std::string(const Recipe&)> typical = [](const Recipe&) { return std::string(); };
  // What an evaluation tells beside what the model's program does; on the host.
  std::function<std::vector<MeasuredValue>(const Recipe&, const Evaluation&)> more_measures = {};
  // Writes what a model says of each example of RecipePaths's `scored`, and gives what that comes
  // to beside the figures of its program, or instead of those of the same names.
  std::function<std::vector<MeasuredValue>(const Recipe&)> write_predictions = {};
  // What train.checkpoint.best_metric may name beside the measures of the model's program: measured
  // at checks, of what the model answers to the held-out examples; and what measures it.
  std::vector<std::string> answered_measures = {};
  std::function<std::unique_ptr<StateMeasures>(const Recipe&, std::shared_ptr<const Client>)>
      state_measures = {};
  // Returns the metric that compares runs by default (evaluation/metrics/named.h); empty if it
  // depends on labels that are known once the examples are made.
  std::function<std::string(const Recipe&)> metric = [](const Recipe&) { return "accuracy"; };
  // The names of the classes that a prediction may be; empty if they are not known, or any text may
  // be predicted.
  std::function<std::vector<std::string>(const Recipe&)> classes = {};
  // A prediction, and what is so, in the form that write_predictions gives them.
  std::function<SamplePrediction(const Recipe&)> sample_prediction = [](const Recipe&) {
    return SamplePrediction();
  };
  // What shows track.fill's texts at checks; empty: inference.fill_mask, if the type has it.
  std::function<std::unique_ptr<const TextSampler>(const Recipe&, std::vector<std::string> texts,
                                                   std::shared_ptr<const Client>,
                                                   const ShardingPlan&)>
      sampler = {};
  BaselineMeasures baseline = {};  // empty: none
  bool weighs_classes = false;     // reads train.class_weights and train.label_smoothing
  bool shards = false;             // make_examples makes as many as data.shards says
  bool sentencepiece = false;      // the vocabulary may be a SentencePiece model
  // Control pieces of one that is made.
  std::vector<std::string> special_pieces = {"[MASK]"};
  InferenceJobs inference = {};  // what pipeline/pretrained_model.h does with a trained one
  // Empty where the model has no such folder.
  std::function<void(const Recipe&, const std::string& folder)> export_folder;
};

}  // namespace smelt
