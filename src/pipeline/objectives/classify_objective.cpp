// model.type: classify.

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "data/input_pipeline/description.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "pipeline/config/distillation.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/config/train_job.h"
#include "pipeline/objectives/classify_data.h"
#include "pipeline/objectives/classify_fields.h"
#include "pipeline/objectives/classify_model.h"
#include "pipeline/objectives/embedding_source.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/glue_preset.h"
#include "pipeline/objectives/objectives.h"
#include "pipeline/objectives/row_source.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

// Returns the encoder of the recipe. A run that has begun reads it from its state.
model::Encoder resolved_encoder(const Recipe& r) {
  const ClassifyModel model = classify_model(r);
  const auto begun = state_to_resume(r);
  if (begun && begun->state.contains("encoder"))
    return model::parse_encoder(begun->state["encoder"].get<std::string>(), begun->state["model"],
                                begun->path);
  const auto encoder_from = [&](const std::string& folder, const std::string& field) {
    return model.problem == io::Problem::rerank ? encoder_to_embed_in(folder, field)
                                                : encoder_in(folder, field);
  };
  if (!model.like.empty()) return encoder_from(model.like, "model.like");
  if (!r.train.init_from.empty()) return encoder_from(r.train.init_from, "train.init_from");
  throw UsageError("train.init_from: no pre-trained model to fine-tune",
                   "name the folder of a BERT, RoBERTa, ModernBERT, DeBERTa or ELECTRA with --set "
                   "train.init_from=…; to train "
                   "from random weights, set model.like and vocab.file");
}

// Returns the mean label from the description of the examples; 0 if they are not made yet.
double mean_label_of(const Recipe& r) {
  const auto files = record_files(RecipePaths(r).train_records);
  const auto described = files.empty() ? std::nullopt : data::find_description(files);
  return described ? described->all.value("mean_label", 0.0) : 0.0;
}

// Returns the count of each class in the training examples; empty if they are not made yet.
std::vector<double> training_counts(const Recipe& r) {
  const auto files = record_files(RecipePaths(r).train_records);
  const auto described = files.empty() ? std::nullopt : data::find_description(files);
  return described ? described->all.value("of_class", std::vector<double>())
                   : std::vector<double>();
}

// Returns the sequence lengths of batches; empty if there is only one, or the examples are not made
// yet.
std::vector<std::int64_t> lengths_of(const Recipe& r) {
  const ClassifyData data = classify_data(r);
  if (data.lengths == "one") return {};
  if (data.lengths == "auto") return described_lengths(r, data.seq_length);
  std::vector<std::int64_t> out;
  const std::string where = "data.lengths";
  for (const std::string_view word : split(data.lengths, ',')) {
    std::int64_t length = 0;
    const std::string_view number = trim(word);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), length);
    if (error != std::errc() || end != number.data() + number.size() || length < 1)
      throw UsageError(str(where, ": '", number, "' is not a sequence length"),
                       "write auto, one, or lengths such as 32,64");
    if (length < data.seq_length) out.push_back(length);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  out.push_back(data.seq_length);
  return out;
}

model::ClassifyTask classifier_task(const Recipe& r, std::vector<std::string> labels) {
  const ClassifyModel model = classify_model(r);
  const ClassifyData data = classify_data(r);
  const auto weights = class_weights_of(r.train.class_weights, labels, training_counts(r));
  return {.encoder = resolved_encoder(r),
          .seq_length = data.seq_length,
          .lengths = lengths_of(r),
          .labels = {.problem = model.problem,
                     .names = std::move(labels),
                     .no_answer = of_answers(r) && data.no_answer},
          .dropout = model.dropout,
          .label_center = mean_label_of(r),
          .answers = answer_limits(data),
          .class_weights = weights,
          .label_smoothing = r.train.label_smoothing};
}

model::ClassifyTask finished_classifier(const Recipe& r) {
  auto labels = known_labels(r);
  if (labels.empty() && io::Labels{.problem = classify_model(r).problem}.has_classes())
    throw UsageError(str(r.out, ": the classes are not known yet"),
                     "make the examples with `smelt run`, or set data.labels");
  return classifier_task(r, std::move(labels));
}

// Checks best_metric: metrics that write_predictions() computes on the host are not available
// during training.
void check_kept_measure(const Recipe& r) {
  const RecipeChecks checks(r);
  for (const char* late : {"entity_precision", "entity_recall", "entity_f1", "exact_match",
                           "average_precision", "ndcg_at_10", "mrr_at_10", "map"})
    checks.require(
        r.train.checkpoint.best_metric != late, {"train.checkpoint.best_metric"},
        str("train.checkpoint.best_metric is ", late, ", which only the final evaluation computes"),
        of_answers(r) ? "use span_accuracy or answer_loss"
        : io::is_number(classify_model(r).problem)
            ? "use accuracy or classification_loss"
            : "use macro_f1, accuracy or classification_loss");
}

void check_answers(const RecipeChecks& checks, const ClassifyData& data) {
  checks.at_least("data.question_tokens", 1);
  checks.at_least("data.doc_stride", 1);
  checks.at_least("data.answer_tokens", 1);
  checks.require(
      data.seq_length > data.question_tokens + 3, {"data.seq_length", "data.question_tokens"},
      str("data.seq_length ", data.seq_length, " is too small for a context and a question of ",
          data.question_tokens, " tokens"),
      "use 384 with data.question_tokens 64");
  checks.require(data.labels.empty(), {"data.labels"},
                 "data.labels cannot be set with model.problem answer_spans",
                 "leave data.labels empty");
}

// Checks train.class_weights and train.label_smoothing, which need a softmax loss: model.problem
// single_label or token_labels.
void check_labels_of_loss(const RecipeChecks& checks, const Recipe& r) {
  checks.require(
      r.train.label_smoothing >= 0 && r.train.label_smoothing < 1, {"train.label_smoothing"},
      str("train.label_smoothing is ", r.train.label_smoothing, ", must be at least 0 and below 1"),
      "use 0.1");
  const io::Problem problem = classify_model(r).problem;
  const bool one_of_several =
      problem == io::Problem::single_label || problem == io::Problem::token_labels;
  const bool given = !r.train.class_weights.empty() || r.train.label_smoothing > 0;
  checks.require(one_of_several || !given,
                 {"train.class_weights", "train.label_smoothing", "model.problem"},
                 "train.class_weights and train.label_smoothing need model.problem "
                 "single_label or token_labels",
                 "remove them");
}

// Returns the classes, or placeholders if they are not known before the data are made.
std::vector<std::string> labels_to_check(const Recipe& r) {
  auto labels = known_labels(r);
  const io::Problem problem = classify_model(r).problem;
  if (!labels.empty() || !io::Labels{.problem = problem}.has_classes()) return labels;
  if (!r.distill.teacher.empty())  // the data must have the same classes
    return teacher_of(r).asked.at("labels").get<std::vector<std::string>>();
  // Two, because best_metric may be f1, which exists only for two classes. For words more are
  // usual, such as O, B-PER and I-PER.
  std::size_t count = problem == io::Problem::token_labels ? 3 : 2;
  if (const auto weights = split(r.train.class_weights, ','); weights.size() > 1)
    count = weights.size();
  while (labels.size() < count) labels.push_back(str(labels.size()));
  return labels;
}

// Returns defaults of fine-tuning for unset fields: those of the BERT paper for models of base
// size.
FieldValues classify_preset(const FieldValues& set) {
  FieldValues out = glue_preset(set);
  const auto add = [&](const char* field, const char* value,
                       std::initializer_list<const char*> or_) {
    for (const char* other : or_)
      if (set.contains(other)) return;
    out.emplace(field, value);
  };
  add("train.epochs", "3", {"train.epochs", "train.steps", "train.length", "train.budget.usd"});
  add("train.schedule.warmup_ratio", "0.1",
      {"train.schedule.warmup_ratio", "train.schedule.warmup_steps", "train.schedule.warmup"});
  add("train.optimizer.learning_rate", "3e-5", {"train.optimizer.learning_rate"});
  return out;
}

void check_classify(const Recipe& r) {
  const RecipeChecks checks(r);
  check_labels_of_loss(checks, r);
  const ClassifyData data = classify_data(r);
  checks.at_least("data.seq_length", 5);
  check_validation_share(r);
  checks.within("data.max_bad", 0, 1);
  checks.within("model.dropout", 0, 0.99);
  checks.one_of("data.format",
                {"auto", "jsonl", "tsv", "tsv-quoted", "csv", "parquet", "conll", "squad"});
  check_row_commands(r);
  checks.require(classify_model(r).problem != io::Problem::token_labels || data.pair.empty(),
                 {"model.problem", "data.pair"},
                 "data.pair cannot be set with model.problem token_labels",
                 "leave data.pair empty");
  checks.require(r.ready.records.empty() || data.train.empty(), {"data.records", "data.train"},
                 "data.records and data.train are both set", "set only one of them");
  if (of_answers(r)) check_answers(checks, data);
  checks.require(!data.no_answer || of_answers(r), {"data.no_answer", "model.problem"},
                 "data.no_answer is only for model.problem answer_spans",
                 "set model.problem to answer_spans");
  const bool rerank = classify_model(r).problem == io::Problem::rerank;
  checks.require(data.negative.empty() || rerank, {"data.negative", "model.problem"},
                 "data.negative is only for model.problem rerank", "set model.problem to rerank");
  checks.require(data.negative.empty() || data.label.empty(), {"data.negative", "data.label"},
                 "data.negative and data.label are both set",
                 "name the column of the labels, or the columns of the documents");
  checks.require(!data.both_orders || !rerank, {"data.both_orders", "model.problem"},
                 "data.both_orders is not for model.problem rerank, whose two texts differ in kind",
                 "remove data.both_orders");
  checks.require(!data.both_orders || (!data.pair.empty() && !of_answers(r)),
                 {"data.both_orders", "data.pair"}, "data.both_orders requires pairs of texts",
                 "name the second text's column with data.pair");
  checks.require(data.labels.empty() || !io::is_number(classify_model(r).problem),
                 {"data.labels", "model.problem"},
                 "data.labels is set, but the problem has numbers instead of classes",
                 "leave data.labels empty");
  const auto given = io::class_names_in(data.labels);
  checks.require(given.empty() || std::set(given.begin(), given.end()).size() == given.size(),
                 {"data.labels"}, "data.labels names a class twice", "name each once");
  checks.require(data.labels.empty() || given.size() > 1, {"data.labels"},
                 "data.labels names only one class", "name all classes, separated by commas");
  check_kept_measure(r);
  const auto labels = labels_to_check(r);
  model::Task task;
  model::ClassifyTask classifier;
  checks.accepts({"train.class_weights"}, [&] { classifier = classifier_task(r, labels); });
  checks.fits_positions(data.seq_length,
                        model::encoder_sizes(classifier.encoder).max_position_embeddings);
  checks.accepts({"data.seq_length"}, [&] { task = model::classify_task(classifier); });
  check_program(r, task);
}

// Returns the accuracy of predicting the most frequent training class. Empty if only some of the
// held-out rows were evaluated, because the classes of those rows are not known.
std::vector<model::MeasuredValue> majority_class(const Recipe& r, const execution::Evaluation& e) {
  const io::Problem problem = classify_model(r).problem;
  if (problem != io::Problem::single_label && problem != io::Problem::token_labels) return {};
  const auto scored = data::find_description(record_files(RecipePaths(r).scored));
  if (scored && scored->examples && e.examples < static_cast<std::int64_t>(*scored->examples))
    return {};
  const auto counts = [](const std::string& records) {
    const auto described = data::find_description(record_files(records));
    return described ? described->all.value("of_class", std::vector<double>())
                     : std::vector<double>();
  };
  const RecipePaths paths(r);
  const auto train = counts(paths.train_records);
  const auto held = counts(paths.scored);
  if (train.empty() || held.size() != train.size()) return {};
  double all = 0;
  for (const double count : held) all += count;
  const auto most = std::ranges::max_element(train) - train.begin();
  return {{.name = "majority_accuracy",
           .value = held[static_cast<std::size_t>(most)] / all,
           .weight = static_cast<double>(e.examples)}};
}

std::string usual_metric(const Recipe& r) {
  if (const std::string metric = glue_metric(r); !metric.empty()) return metric;
  switch (classify_model(r).problem) {
    case io::Problem::regression:
      return "pearson";
    case io::Problem::rerank:
      return "average-precision";
    case io::Problem::token_labels: {
      const io::Labels labels{.problem = io::Problem::token_labels, .names = known_labels(r)};
      return labels.names.empty() ? "" : has_entities(labels) ? "entity-f1" : "accuracy";
    }
    case io::Problem::answer_spans:
      return "squad-f1";
    default:
      return "accuracy";
  }
}

SamplePrediction sample_of(const Recipe& r) {
  using Texts = std::vector<std::string>;
  switch (classify_model(r).problem) {
    case io::Problem::regression:
    case io::Problem::rerank:
      return {.prediction = 0.5, .label = 1};
    case io::Problem::token_labels:
      return {.prediction = Texts{"a", "a"}, .label = Texts{"a", "a"}, .of_words = true};
    case io::Problem::multi_label:
      return {.prediction = Texts{"a"}, .label = Texts{"a", "b"}};
    case io::Problem::answer_spans:
      return {.prediction = "a", .label = Texts{"a", "b"}};
    default:
      return {};
  }
}

model::Teacher teaching_classifier(const Recipe&, const checkpoint::StoredModel& m,
                                   model::FrozenModel held) {
  if (checkpoint::model_type_of(m.tensors) != "classify")
    throw UsageError(str(held.where, " has no classification head"),
                     "use a model that was fine-tuned for the same task");
  return model::classify_teacher(stored_classifier(m), std::move(held));
}

void export_classifier(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  const model::ClassifyTask task = finished_classifier(r);
  const checkpoint::Checkpoint checkpoint = checkpoint::parameters_of(
      execution::load_trained_model("export", paths.trained,
                                    model::encoder_config_json(task.encoder), paths.vocab,
                                    r.eval.averaged)
          .checkpoint);
  checkpoint::HuggingFaceClassifier model{
      .encoder = task.encoder, .labels = task.labels, .folder = {}};
  model.dropout = task.dropout;
  model.seq_length = task.seq_length;
  model.answers = task.answers;
  model.folder.vocab_txt = text::vocabulary_bytes(paths.vocab);
  model.folder.tokenizer = text::tokenizer_options(paths.vocab, tokenizer_flags(r));
  checkpoint::export_hugging_face(
      folder, std::move(model), checkpoint::lazy_tensors(checkpoint.tensors),
      {.earlier = folder == paths.hugging_face ? io::OutputDirectory::Earlier::replaced
                                               : io::OutputDirectory::Earlier::refused});
  log_info("export: {} contains step {} for transformers' {}", folder, checkpoint.step,
           checkpoint::classifier_class(task.encoder, task.labels.problem));
}

}  // namespace

ObjectiveType classify_objective() {
  ObjectiveType type;
  type.name = "classify";
  type.help =
      "fine-tunes a BERT, RoBERTa, ModernBERT, DeBERTa or ELECTRA for classification, regression, "
      "token labels, question answering or reranking";
  type.model = io::config_fields<ClassifyModel>();
  type.data = io::config_fields<ClassifyData>();
  type.preset = classify_preset;
  type.weighs_classes = true;
  type.reads = Reads::rows;
  type.rows = labelled_row_files;
  type.check_rows = check_labelled_rows;
  type.example_fields = {"problem"};
  type.beside_examples = {"answer_tokens"};
  type.check = check_classify;
  type.make_examples = make_labelled;
  type.task = [](const Recipe& r) { return model::classify_task(finished_classifier(r)); };
  type.teacher = teaching_classifier;
  type.remark = glue_remark;
  type.more_measures = majority_class;
  type.write_predictions = [](const Recipe& r) {
    return of_answers(r) ? write_answer_predictions(r)
                         : write_class_predictions(r, finished_classifier(r));
  };
  type.metric = usual_metric;
  type.write_rows = write_rows_of;
  type.classes = labels_to_come;
  type.sample_prediction = sample_of;
  type.baseline = {.measure = "accuracy",
                   .of = "majority_accuracy",
                   .meaning = "always the most frequent class"};
  type.export_folder = export_classifier;
  type.inference.classify = [](const checkpoint::StoredModel& m) {
    return classify_job(stored_classifier(m));
  };
  return type;
}

}  // namespace smelt::pipeline
