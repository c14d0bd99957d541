#include "pipeline/objectives/classify_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "checkpoint/interop/stored_classifier.h"
#include "data/input_pipeline/example_source.h"
#include "data/preprocess/labelled_rows.h"
#include "data/preprocess/row_records.h"
#include "evaluation/metrics/correlation.h"
#include "evaluation/metrics/entities.h"
#include "evaluation/metrics/reranking.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/encoder_source.h"
#include "pipeline/objectives/kept_rows.h"
#include "pipeline/objectives/pretrained_model.h"
#include "train/process_group.h"

namespace smelt::pipeline {
namespace {

constexpr std::int64_t kExamplesAtOnce = 4096;

// Access to a batch of labelled examples. Its arrays are token ids, mask, segments and labels.
struct LabelledBatch {
  const data::Batch& batch;

  std::span<const std::int32_t> row(std::size_t feature, std::size_t row) const {
    const auto all = batch.arrays[feature].values<std::int32_t>();
    const std::size_t size = all.size() / static_cast<std::size_t>(batch.rows);
    return all.subspan(row * size, size);
  }
  text::TextPairIds text(std::size_t at) const {
    const auto mask = row(1, at), segments = row(2, at);
    const auto tokens = static_cast<std::size_t>(std::ranges::count(mask, 1));
    text::TextPairIds out;
    out.ids.assign(row(0, at).begin(), row(0, at).begin() + static_cast<std::ptrdiff_t>(tokens));
    out.first = tokens - static_cast<std::size_t>(std::ranges::count(segments.first(tokens), 1));
    return out;
  }
  // For token_labels: returns text(at) with the positions of the first pieces of words in `words`.
  text::TextPairIds text_of_words(std::size_t at) const {
    text::TextPairIds out = text(at);
    const auto labels = row(3, at);
    for (std::size_t i = 0; i < out.ids.size(); ++i)
      if (labels[i] > 0) out.words.push_back(i);
    return out;
  }
  std::vector<std::string> labels_of_words(const io::Labels& labels, std::size_t at) const {
    std::vector<std::string> out;
    for (const std::int32_t one : row(3, at))
      if (one > 0) out.push_back(labels.names[static_cast<std::size_t>(one - 1)]);
    return out;
  }
  // Returns the label of an example in the format of a model's outputs: the number for regression,
  // otherwise 1 for each class that it has and 0 for the others.
  std::vector<float> label(const io::Labels& labels, std::size_t at) const {
    if (io::is_number(labels.problem)) return {batch.arrays[3].values<float>()[at]};
    std::vector<float> out(labels.names.size(), 0);
    const auto value = row(3, at);
    if (labels.problem == io::Problem::single_label)
      out[static_cast<std::size_t>(value.front())] = 1;
    else
      std::ranges::copy(value, out.begin());
    return out;
  }
};

// Returns the original text and pair. If the original rows are not stored, decodes them from the
// ids without [CLS] and [SEP].
OrderedJson text_json(KeptRows& kept, const text::BertTokenizer& tokenizer,
                      const text::TextPairIds& text) {
  if (kept.are_there()) {
    OrderedJson row = kept.next();
    row.erase("label");
    return row;
  }
  const std::span<const std::int32_t> ids(text.ids);
  OrderedJson out{{"text", tokenizer.decode(ids.subspan(1, text.first - 2))}};
  const std::size_t second = text.first + tokenizer.vocabulary().separators() - 1;
  if (second < ids.size())
    out["pair"] = tokenizer.decode(ids.subspan(second, ids.size() - second - 1));
  return out;
}

// Returns one word for each entry of text.words: the first words of the original text `written`, or
// words decoded from the ids if `written` is nullopt.
std::vector<std::string> words_of(const std::optional<std::string>& written,
                                  const text::BertTokenizer& tokenizer,
                                  const text::TextPairIds& text) {
  if (written) {
    const auto words = text::words_in(*written);
    const std::size_t count = std::min(words.size(), text.words.size());
    return {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.words.size(); ++i) {
    const std::size_t begin = text.words[i];
    const std::size_t end = i + 1 < text.words.size() ? text.words[i + 1] : text.ids.size() - 1;
    out.push_back(tokenizer.decode(std::span(text.ids).subspan(begin, end - begin)));
    std::erase(out.back(), ' ');  // spaces that decode() adds around punctuation
  }
  return out;
}

OrderedJson entities_json(const std::vector<std::string>& words,
                          const std::vector<std::string>& labels) {
  OrderedJson out = OrderedJson::array();
  for (const evaluation::Entity& e : evaluation::entities_of(labels)) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(e.first);
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(e.last) + 1;
    out.push_back({{"type", e.type},
                   {"text", join(std::vector<std::string>(begin, end), " ")},
                   {"first", e.first},
                   {"last", e.last}});
  }
  return out;
}

// The lines of predictions.jsonl, and the values from which their metrics are computed.
struct WrittenPredictions {
  std::string lines;
  evaluation::EntityCounts entities = {};
  std::vector<double> predictions = {}, labels = {};
  std::vector<std::string> queries = {};  // for rerank
  // Number of predictions and of labels of each class.
  std::map<std::string, std::int64_t> predicted = {}, labelled = {};

  void add(const OrderedJson& line) {
    lines += line.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n";
  }
};

WrittenPredictions predict_words(execution::Classifier& classifier, const LabelledBatch& batch,
                                 KeptRows& kept) {
  const io::Labels& labels = classifier.job().labels;
  std::vector<text::TextPairIds> texts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.batch.rows); ++i)
    texts.push_back(batch.text_of_words(i));
  const auto numbers = classifier.classify(texts);
  WrittenPredictions written;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::optional<std::string> original;
    if (kept.are_there()) original = kept.next()["text"].get<std::string>();
    const auto words = words_of(original, classifier.tokenizer(), texts[i]);
    const auto wanted = batch.labels_of_words(labels, i);
    OrderedJson line{{"text", original.value_or(join(words, " "))}, {"label", wanted}};
    line.update(words_json(labels, words, numbers[i]));
    written.add(line);
    for (const std::string& label : wanted) ++written.labelled[label];
    for (const std::string& label : said_labels(labels, numbers[i])) ++written.predicted[label];
    if (has_entities(labels))
      written.entities += evaluation::entity_counts(said_labels(labels, numbers[i]), wanted);
  }
  return written;
}

WrittenPredictions predict_texts(execution::Classifier& classifier, const LabelledBatch& batch,
                                 KeptRows& kept) {
  const io::Labels& labels = classifier.job().labels;
  std::vector<text::TextPairIds> texts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.batch.rows); ++i)
    texts.push_back(batch.text(i));
  const auto numbers = classifier.classify(texts);
  WrittenPredictions written;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    OrderedJson line = text_json(kept, classifier.tokenizer(), texts[i]);
    const std::vector<float> label = batch.label(labels, i);
    line["label"] = said_json(labels, label);
    line["prediction"] = said_json(labels, numbers[i]);
    if (!labels.names.empty()) line["probabilities"] = probabilities_json(labels, numbers[i]);
    written.add(line);
    if (labels.problem == io::Problem::single_label) {
      ++written.labelled[line["label"].get<std::string>()];
      ++written.predicted[line["prediction"].get<std::string>()];
    }
    if (!io::is_number(labels.problem)) continue;
    if (labels.problem == io::Problem::rerank) written.queries.push_back(line["text"]);
    written.predictions.push_back(numbers[i].front());
    written.labels.push_back(label.front());
  }
  return written;
}

// Returns the average precision over all pairs, and the metrics of the documents of each query if
// some query has both relevant and other documents.
std::vector<model::MeasuredValue> reranking_measures(const WrittenPredictions& written) {
  const auto all = static_cast<double>(written.labels.size());
  const double precision = evaluation::average_precision_score(written.predictions, written.labels);
  std::vector<model::MeasuredValue> out{
      {.name = "average_precision", .value = std::isnan(precision) ? 0 : precision, .weight = all}};
  const evaluation::RerankingMetrics ranked =
      evaluation::reranking_metrics(written.queries, written.predictions, written.labels);
  const auto queries = static_cast<double>(ranked.queries);
  if (ranked.queries > 0)
    out.insert(out.end(), {{.name = "ndcg_at_10", .value = ranked.ndcg, .weight = queries},
                           {.name = "mrr_at_10", .value = ranked.mrr, .weight = queries},
                           {.name = "map", .value = ranked.map, .weight = queries}});
  return out;
}

// Returns the metrics that need all predictions: correlations for regression (0 if predictions or
// labels are constant), those of reranking_measures(), precision, recall and F1 of entities for
// token_labels; otherwise none.
std::vector<model::MeasuredValue> measures_of(const WrittenPredictions& written,
                                              const io::Labels& labels) {
  if (labels.problem == io::Problem::rerank) return reranking_measures(written);
  if (labels.problem == io::Problem::regression) {
    const auto measured = [&](const char* name, double value) -> model::MeasuredValue {
      return {.name = name,
              .value = std::isnan(value) ? 0 : value,
              .weight = static_cast<double>(written.labels.size())};
    };
    return {measured("pearson", evaluation::pearson(written.predictions, written.labels)),
            measured("spearman", evaluation::spearman(written.predictions, written.labels))};
  }
  if (labels.problem != io::Problem::token_labels || !has_entities(labels)) return {};
  const evaluation::PrecisionRecall score = written.entities.score();
  const auto all = static_cast<double>(written.entities.wanted);
  return {{.name = "entity_precision", .value = score.precision, .weight = all},
          {.name = "entity_recall", .value = score.recall, .weight = all},
          {.name = "entity_f1", .value = score.f1, .weight = all}};
}

}  // namespace

std::string never_predicted(const std::map<std::string, std::int64_t>& labelled,
                            const std::map<std::string, std::int64_t>& predicted) {
  std::int64_t all = 0;
  for (const auto& [label, count] : labelled) all += count;
  std::vector<std::string> classes;
  for (const auto& [label, count] : labelled)
    if (const auto found = predicted.find(label); found == predicted.end() || found->second == 0)
      classes.push_back(str("'", label, "' (the label of ", count, " of ", all, ")"));
  if (classes.empty() || all == 0) return "";
  constexpr std::size_t kMost = 5;
  const std::size_t more = classes.size() > kMost ? classes.size() - kMost : 0;
  classes.resize(classes.size() - more);
  return str("never predicted: ", join(classes, ", "), more > 0 ? str(" and ", more, " more") : "",
             "\n  hint: more epochs or more examples of them help; so does --set "
             "train.class_weights=balanced, if it is not set yet");
}

OrderedJson said_json(const io::Labels& labels, std::span<const float> numbers) {
  CHECK(labels.problem != io::Problem::answer_spans);
  if (io::is_number(labels.problem)) return to_f32_digits(numbers.front());
  if (labels.problem == io::Problem::single_label) return execution::said_label(labels, numbers);
  return execution::predicted_classes(labels, numbers);
}

std::vector<std::string> said_labels(const io::Labels& labels, std::span<const float> numbers) {
  std::vector<std::string> out;
  const std::size_t C = labels.names.size();
  for (std::size_t at = 0; at < numbers.size(); at += C) {
    const auto of_word = numbers.subspan(at, C);
    out.push_back(
        labels
            .names[static_cast<std::size_t>(std::ranges::max_element(of_word) - of_word.begin())]);
  }
  return evaluation::with_entity_begins(std::move(out), labels.names);
}

bool has_entities(const io::Labels& labels) {
  return std::ranges::any_of(labels.names, evaluation::is_entity_label);
}

OrderedJson words_json(const io::Labels& labels, std::vector<std::string> words,
                       std::span<const float> numbers) {
  const std::size_t C = labels.names.size();
  const auto predicted = said_labels(labels, numbers);
  OrderedJson sure = OrderedJson::array();
  for (std::size_t at = 0; at < numbers.size(); at += C)
    sure.push_back(to_f32_digits(std::ranges::max(numbers.subspan(at, C))));
  OrderedJson prediction = predicted;
  const bool has_outside = std::ranges::find(labels.names, "O") != labels.names.end();
  while (prediction.size() < words.size()) {
    prediction.push_back(has_outside ? OrderedJson("O") : OrderedJson());
    sure.push_back(nullptr);
  }
  OrderedJson out{{"words", words}, {"prediction", prediction}, {"probabilities", sure}};
  if (has_entities(labels)) out["entities"] = entities_json(words, predicted);
  return out;
}

OrderedJson probabilities_json(const io::Labels& labels, std::span<const float> numbers) {
  OrderedJson out = OrderedJson::object();
  for (std::size_t i = 0; i < labels.names.size(); ++i)
    out[labels.names[i]] = to_f32_digits(numbers[i]);
  return out;
}

std::vector<model::MeasuredValue> write_class_predictions(const Recipe& r,
                                                          const model::ClassifyTask& task) {
  const RecipePaths paths(r);
  const auto source =
      data::open_examples({.input = paths.scored, .features = model::classify_task(task).features});
  execution::Classifier classifier = PretrainedModel::of_recipe(r).classifier(
      {.batch_size = r.eval.batch_size,
       .devices = train::local_inference_devices(r.train.devices)});
  const bool of_words = task.labels.problem == io::Problem::token_labels;
  WrittenPredictions all;
  KeptRows kept(paths.scored, source->size());
  if (!kept.are_there())
    log_warning("eval: {} not found: predictions.jsonl has texts decoded from token ids",
                data::rows_beside(paths.scored));
  io::OutputFile file(paths.predictions);
  for (std::uint64_t first = 0; first < source->size(); first += kExamplesAtOnce) {
    const auto count = std::min<std::uint64_t>(kExamplesAtOnce, source->size() - first);
    const data::Batch batch = source->examples_in_order(first, count);
    const WrittenPredictions written = of_words ? predict_words(classifier, {batch}, kept)
                                                : predict_texts(classifier, {batch}, kept);
    file.write(written.lines);
    all.entities += written.entities;
    all.predictions.insert(all.predictions.end(), written.predictions.begin(),
                           written.predictions.end());
    all.queries.insert(all.queries.end(), written.queries.begin(), written.queries.end());
    all.labels.insert(all.labels.end(), written.labels.begin(), written.labels.end());
    for (const auto& [label, count] : written.labelled) all.labelled[label] += count;
    for (const auto& [label, count] : written.predicted) all.predicted[label] += count;
  }
  file.commit();
  if (const std::string never = never_predicted(all.labelled, all.predicted); !never.empty())
    log_warning("eval: {}", never);
  return measures_of(all, task.labels);
}

execution::ClassifyJob classify_job(const model::ClassifyTask& task) {
  execution::ClassifyJob job;
  job.probabilities = [task](std::int64_t S) { return model::class_probabilities(task, S); };
  job.labels = task.labels;
  job.answers = task.answers;
  job.most_tokens = task.seq_length;
  return job;
}

model::ClassifyTask stored_classifier(const checkpoint::StoredModel& m) {
  const checkpoint::ClassifierHead head = checkpoint::stored_head(m);
  model::ClassifyTask task{.encoder = encoder_of(m),
                           .labels = head.labels,
                           .dropout = head.dropout,
                           .answers = head.answers};
  const std::int64_t most = model::encoder_sizes(task.encoder).max_position_embeddings;
  task.seq_length = head.seq_length > 0 ? std::min(head.seq_length, most) : most;
  return task;
}

}  // namespace smelt::pipeline
