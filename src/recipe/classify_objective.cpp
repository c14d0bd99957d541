// model.type: classify.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "base/figures.h"
#include "base/words.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/hugging_face_classifier.h"
#include "checkpoint/lazy_files.h"
#include "data/description.h"
#include "examples/labelled_examples.h"
#include "format/config.h"
#include "recipe/classify_model.h"
#include "recipe/encoder_source.h"
#include "recipe/objectives.h"
#include "recipe/pipeline.h"
#include "recipe/recipe_checks.h"
#include "state/resume.h"
#include "store/file.h"
#include "store/path.h"

namespace smelt {
namespace {

struct ClassifyModel {
  std::string like;
  Problem problem = Problem::single_label;
  double dropout = 0.1;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyModel>
void visit_fields(C& c, Visitor&& visit) {
  visit("like", c.like,
        "a folder of a BERT or ELECTRA whose sizes the encoder has; empty: that of train.init");
  visit("problem", c.problem,
        "single_label: one of several classes; multi_label: any of them, written with commas; "
        "regression: a number; token_labels: a class for each word, in its order");
  visit("dropout", c.dropout, "dropout of what the head is given");
}

struct ClassifyData {
  std::string train, validation, test;
  std::string format = "auto", text = "text", pair, label = "label", labels;
  std::int64_t seq_length = 128;
  std::string lengths = "auto";
  double validation_share = 0.1;
  std::int64_t seed = 12345;
  double max_bad = 0.01;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ClassifyData>
void visit_fields(C& c, Visitor&& visit) {
  visit("train", c.train,
        "labelled texts to train on: files or patterns of JSONL, TSV, CSV, Parquet or, of "
        "token_labels, CoNLL, comma separated");
  visit("validation", c.validation,
        "those to evaluate on; empty: data.validation_share of data.train is held out");
  visit("test", c.test, "those of eval.split test; empty: none");
  visit("format", c.format, "jsonl, tsv, csv, parquet or conll; auto goes by each file's name");
  visit("text", c.text,
        "column of the text; of token_labels its words, with spaces between or as an array");
  visit("pair", c.pair, "column of a second text; empty: there is none");
  visit("label", c.label, "column of the label");
  visit("labels", c.labels,
        "the classes' names in their order, with commas between; empty: those of data.train, "
        "sorted");
  visit("seq_length", c.seq_length, "tokens per example; longer texts are cut");
  visit(
      "lengths", c.lengths,
      "lengths that training's batches may have, so that those of short texts hold little padding: "
      "32,64 and seq_length; auto: a few by the examples' own lengths; one: seq_length alone");
  visit("validation_share", c.validation_share,
        "share of each class that is held out where data.validation is empty");
  visit("seed", c.seed, "which rows are held out");
  visit("max_bad", c.max_bad, "share of the rows that may be left out because they cannot be read");
}

double part_of(std::uint64_t part, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

ClassifyModel classify_model(const Recipe& r) {
  return parse_config<ClassifyModel>(r.model, "model");
}
ClassifyData classify_data(const Recipe& r) { return parse_config<ClassifyData>(r.data, "data"); }

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> out;
  for (const std::string_view name : split(list, ','))
    if (!trim(name).empty()) out.emplace_back(trim(name));
  return out;
}

// A run that has begun says it itself.
Encoder resolved_encoder(const Recipe& r) {
  const ClassifyModel model = classify_model(r);
  const auto begun = load_latest_state(RecipePaths(r).model_dir);
  if (begun && begun->state.contains("encoder"))
    return parse_encoder(begun->state["encoder"].get<std::string>(), begun->state["model"],
                         begun->path);
  if (!model.like.empty()) return encoder_in(model.like, "model.like");
  if (!r.train.init.empty()) return encoder_in(r.train.init, "train.init");
  throw UsageError("train.init: no pre-trained model to fine-tune",
                   "name a BERT's or ELECTRA's folder with --set train.init=…; model.like with "
                   "vocab.file takes its sizes alone, for fresh weights");
}

// The classes' names as the records say them, or will say them; nothing where neither is known.
std::vector<std::string> known_labels(const Recipe& r) {
  if (classify_model(r).problem == Problem::regression) return {};
  if (const ClassifyData data = classify_data(r); !data.labels.empty())
    return names_in(data.labels);
  const auto files = record_files(RecipePaths(r).train_records);
  if (files.empty()) return {};
  const auto described = find_description(files);
  if (!described || !described->all.contains("labels")) return {};
  return described->all["labels"].get<std::vector<std::string>>();
}

// The lengths of batches; one alone where the examples do not say theirs yet.
std::vector<std::int64_t> lengths_of(const Recipe& r) {
  const ClassifyData data = classify_data(r);
  if (data.lengths == "one") return {};
  std::vector<std::int64_t> out;
  if (data.lengths == "auto") {
    const auto files = record_files(RecipePaths(r).train_records);
    const auto described = files.empty() ? std::nullopt : find_description(files);
    if (described) out = described->all.value("lengths", out);
    return !out.empty() && out.back() == data.seq_length ? out : std::vector<std::int64_t>();
  }
  const std::string where = "data.lengths";
  for (const std::string_view word : split(data.lengths, ',')) {
    std::int64_t length = 0;
    const std::string_view number = trim(word);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), length);
    if (error != std::errc() || end != number.data() + number.size() || length < 1)
      throw UsageError(str(where, ": '", number, "' is no length"),
                       "write auto, one, or lengths such as 32,64");
    if (length < data.seq_length) out.push_back(length);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  out.push_back(data.seq_length);
  return out;
}

ClassifyTask classifier_task(const Recipe& r, std::vector<std::string> labels) {
  const ClassifyModel model = classify_model(r);
  return {.encoder = resolved_encoder(r),
          .seq_length = classify_data(r).seq_length,
          .lengths = lengths_of(r),
          .labels = {.problem = model.problem, .names = std::move(labels)},
          .dropout = model.dropout};
}

ClassifyTask finished_classifier(const Recipe& r) {
  auto labels = known_labels(r);
  if (labels.empty() && classify_model(r).problem != Problem::regression)
    throw UsageError(str(r.out, ": no classes are known here yet"),
                     "`smelt run` makes the examples, which say them; or give data.labels");
  return classifier_task(r, std::move(labels));
}

void check_classify(const Recipe& r) {
  const RecipeChecks checks(r);
  const ClassifyData data = classify_data(r);
  checks.at_least("data.seq_length", 5);
  checks.within("data.validation_share", 0, 0.5, RecipeChecks::Ends::without);
  checks.within("data.max_bad", 0, 1);
  checks.within("model.dropout", 0, 0.99);
  checks.one_of("data.format", {"auto", "jsonl", "tsv", "csv", "parquet", "conll"});
  checks.require(classify_model(r).problem != Problem::token_labels || data.pair.empty(),
                 {"model.problem", "data.pair"}, "labels of words, and data.pair",
                 "labels are of the words of one text: leave data.pair empty");
  checks.require(r.ready.records.empty() || data.train.empty(), {"data.records", "data.train"},
                 "data.records and data.train are given", "give one of the two");
  checks.require(data.train.empty() || !data.label.empty(), {"data.label"}, "data.label is empty",
                 "name the column of the label");
  const auto given = names_in(data.labels);
  checks.require(given.empty() || std::set(given.begin(), given.end()).size() == given.size(),
                 {"data.labels"}, "data.labels names a class twice", "name each once");
  checks.require(data.labels.empty() || given.size() > 1, {"data.labels"},
                 "data.labels names one class alone", "name all, with commas between");
  auto labels = known_labels(r);
  if (labels.empty() && classify_model(r).problem != Problem::regression) labels = {"0", "1"};
  Task task;
  checks.accepts({"data.seq_length"}, [&] { task = classify_task(classifier_task(r, labels)); });
  check_program(r, task);
}

std::vector<std::string> row_files(const Recipe& r) {
  const ClassifyData data = classify_data(r);
  if (data.train.empty())
    throw UsageError("data.train: no labelled texts",
                     "give files of JSONL, TSV, CSV or Parquet with --set data.train=…");
  std::vector<std::string> out;
  for (const auto& [files, what] : {std::pair{data.train, "data.train"},
                                    {data.validation, "data.validation"},
                                    {data.test, "data.test"}})
    if (!files.empty())
      for (std::string& file : expand_files(files, what)) out.push_back(std::move(file));
  return out;
}

LabelledFiles files_of(const Recipe& r, const std::string& input) {
  const ClassifyData data = classify_data(r);
  return {.input = input,
          .format = parse_file_format(data.format, "data.format"),
          .text = data.text,
          .pair = data.pair,
          .label = data.label,
          .words = classify_model(r).problem == Problem::token_labels,
          .limits = {.max_bad = data.max_bad}};
}

// Counted in the rows that are trained on, once for all parts.
Labels labels_for(const Recipe& r) {
  const ClassifyData data = classify_data(r);
  Labels out{.problem = classify_model(r).problem, .names = names_in(data.labels)};
  if (out.problem == Problem::regression || !out.names.empty()) return out;
  for (const auto& [name, count] :
       count_labels(files_of(r, data.train), out.problem, "data.train")) {
    out.names.push_back(name);
    if (count == 1)
      spdlog::warn("data.train: class '{}' has one example alone, which is trained on", name);
  }
  return out;
}

LabelledSummary write_part(const Recipe& r, const Labels& labels, const std::string& what,
                           const std::string& input, const std::string& output,
                           std::optional<RowSplit> split) {
  LabelledExamplesJob job{.rows = files_of(r, input),
                          .what = what,
                          .split = split,
                          .labels = labels,
                          .vocab = RecipePaths(r).vocab,
                          .tokenizer = tokenizer_flags(r),
                          .seq_length = classify_data(r).seq_length,
                          .output = output};
  const LabelledSummary s = write_labelled_examples(job);
  spdlog::info("data: {} of {}: {} of them cut to {} tokens, {} unknown tokens",
               counted(s.examples, "example"), what, percent(part_of(s.cut, s.examples)),
               job.seq_length, percent(part_of(s.unknown, s.tokens)));
  return s;
}

std::uint64_t make_labelled(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const ClassifyData data = classify_data(r);
  const Labels labels = labels_for(r);
  const auto split = [&](RowSplit::Part part) -> std::optional<RowSplit> {
    if (!data.validation.empty()) return std::nullopt;
    return RowSplit{.heldout = data.validation_share,
                    .seed = static_cast<std::uint64_t>(data.seed),
                    .part = part};
  };
  if (set == ExampleSet::train)
    return write_part(r, labels, "data.train", data.train, paths.train_output,
                      split(RowSplit::Part::train))
        .examples;
  if (!data.test.empty())
    write_part(r, labels, "data.test", data.test, paths.test_records, std::nullopt);
  const bool own = !data.validation.empty();
  return write_part(r, labels, own ? "data.validation" : "data.train",
                    own ? data.validation : data.train, paths.heldout_output,
                    split(RowSplit::Part::heldout))
      .examples;
}

// Against the class that is most frequent in training.
std::vector<MeasuredValue> majority_class(const Recipe& r, const Evaluation& e) {
  const Problem problem = classify_model(r).problem;
  if (problem != Problem::single_label && problem != Problem::token_labels) return {};
  const auto counts = [](const std::string& records) {
    const auto described = find_description(record_files(records));
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

void export_classifier(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  const ClassifyTask task = finished_classifier(r);
  const Checkpoint checkpoint =
      parameters_of(load_trained_model("export", paths.trained, encoder_config_json(task.encoder),
                                       paths.vocab, r.eval.averaged)
                        .checkpoint);
  HuggingFaceClassifier model{.encoder = task.encoder, .labels = task.labels, .folder = {}};
  model.dropout = task.dropout;
  model.folder.vocab_txt = read_file(paths.vocab, kSmallFileBytes);
  model.folder.tokenizer =
      load_tokenizer_config(paths.vocab).value_or(options_of(tokenizer_flags(r)));
  export_hugging_face(
      folder, std::move(model), lazy_tensors(checkpoint.tensors),
      {.earlier = folder == paths.hugging_face ? OutputDirectory::Earlier::replaced
                                               : OutputDirectory::Earlier::refused});
  spdlog::info("export: {} holds step {} for transformers' {}", folder, checkpoint.step,
               classifier_class(task.encoder, task.labels.problem));
}

}  // namespace

ObjectiveType classify_objective() {
  ObjectiveType type;
  type.name = "classify";
  type.help = "classes or numbers of texts and pairs, by a pre-trained BERT or ELECTRA";
  type.model = config_fields<ClassifyModel>();
  type.data = config_fields<ClassifyData>();
  type.reads = Reads::rows;
  type.rows = row_files;
  type.check = check_classify;
  type.make_examples = make_labelled;
  type.task = [](const Recipe& r) { return classify_task(finished_classifier(r)); };
  type.more_measures = majority_class;
  type.write_predictions = [](const Recipe& r) {
    return write_class_predictions(r, finished_classifier(r));
  };
  type.baseline = {.measure = "accuracy", .of = "majority_accuracy"};
  type.export_folder = export_classifier;
  type.questions = {QuestionFor<ClassifyJob>(
      of_model([](const Recipe& r) { return classify_job(finished_classifier(r)); },
               [](const StoredModel& m) { return classify_job(stored_classifier(m)); }))};
  return type;
}

}  // namespace smelt
