#include "recipe/classify_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/figures.h"
#include "checkpoint/stored_classifier.h"
#include "data/example_source.h"
#include "examples/labelled_rows.h"
#include "format/config.h"
#include "recipe/encoder_source.h"
#include "recipe/pipeline.h"
#include "store/file.h"

namespace smelt {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kExamplesAtOnce = 4096;

// The features of a task, in its order.
struct LabelledBatch {
  const Batch& batch;

  std::span<const std::int32_t> row(std::size_t feature, std::size_t row) const {
    const auto all = batch.arrays[feature].values<std::int32_t>();
    const std::size_t size = all.size() / static_cast<std::size_t>(batch.rows);
    return all.subspan(row * size, size);
  }
  TextPairIds text(std::size_t at) const {
    const auto mask = row(1, at), segments = row(2, at);
    const auto tokens = static_cast<std::size_t>(std::ranges::count(mask, 1));
    TextPairIds out;
    out.ids.assign(row(0, at).begin(), row(0, at).begin() + static_cast<std::ptrdiff_t>(tokens));
    out.first = tokens - static_cast<std::size_t>(std::ranges::count(segments.first(tokens), 1));
    return out;
  }
  // What is so, as numbers that a model that is sure of it would give.
  std::vector<float> label(const Labels& labels, std::size_t at) const {
    if (labels.problem == Problem::regression) return {batch.arrays[3].values<float>()[at]};
    std::vector<float> out(labels.names.size(), 0);
    const auto said = row(3, at);
    if (labels.problem == Problem::single_label)
      out[static_cast<std::size_t>(said.front())] = 1;
    else
      std::ranges::copy(said, out.begin());
    return out;
  }
};

// Without [CLS] and [SEP].
OrderedJson text_json(const BertTokenizer& tokenizer, const TextPairIds& text) {
  const std::span<const std::int32_t> ids(text.ids);
  OrderedJson out{{"text", tokenizer.decode(ids.subspan(1, text.first - 2))}};
  if (text.first < ids.size())
    out["pair"] = tokenizer.decode(ids.subspan(text.first, ids.size() - text.first - 1));
  return out;
}

std::string prediction_lines(Classifier& classifier, const LabelledBatch& batch) {
  const Labels& labels = classifier.job().labels;
  std::vector<TextPairIds> texts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.batch.rows); ++i)
    texts.push_back(batch.text(i));
  const auto numbers = classifier.classify(texts);
  std::string lines;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    OrderedJson out = text_json(classifier.tokenizer(), texts[i]);
    out["label"] = said_json(labels, batch.label(labels, i));
    out["prediction"] = said_json(labels, numbers[i]);
    if (!labels.names.empty()) out["probabilities"] = probabilities_json(labels, numbers[i]);
    lines += out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  }
  return lines;
}

}  // namespace

OrderedJson said_json(const Labels& labels, std::span<const float> numbers) {
  if (labels.problem == Problem::regression) return to_f32_digits(numbers.front());
  const std::string said = said_label(labels, numbers);
  if (labels.problem == Problem::single_label) return said;
  return said.empty() ? OrderedJson::array() : OrderedJson(label_names(labels.problem, said));
}

OrderedJson probabilities_json(const Labels& labels, std::span<const float> numbers) {
  OrderedJson out = OrderedJson::object();
  for (std::size_t i = 0; i < labels.names.size(); ++i)
    out[labels.names[i]] = to_f32_digits(numbers[i]);
  return out;
}

void write_class_predictions(const Recipe& r, const ClassifyTask& task) {
  const RecipePaths paths(r);
  const auto source =
      open_examples({.input = paths.scored, .features = classify_task(task).features});
  Classifier classifier =
      classifier_of(r, {.batch_size = r.eval.batch_size, .devices = r.train.devices});
  OutputFile file(paths.predictions);
  for (std::uint64_t first = 0; first < source->size(); first += kExamplesAtOnce) {
    const auto count = std::min<std::uint64_t>(kExamplesAtOnce, source->size() - first);
    const Batch batch = source->examples_in_order(first, count);
    file.write(prediction_lines(classifier, {batch}));
  }
  file.commit();
}

ClassifyJob classify_job(const ClassifyTask& task) {
  ClassifyJob job;
  job.probabilities = [task](std::int64_t S) { return class_probabilities(task, S); };
  job.labels = task.labels;
  job.most_tokens = task.seq_length;
  job.model = encoder_config_json(task.encoder);
  return job;
}

ClassifyTask stored_classifier(const StoredModel& m) {
  const ClassifierHead head = stored_head(m);
  ClassifyTask task{.encoder = encoder_of(m), .labels = head.labels, .dropout = head.dropout};
  const std::int64_t most = encoder_sizes(task.encoder).max_position_embeddings;
  task.seq_length = m.settings.is_object() ? m.settings.value("seq_length", most) : most;
  return task;
}

}  // namespace smelt
