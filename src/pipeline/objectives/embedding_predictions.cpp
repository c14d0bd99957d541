#include "pipeline/objectives/embedding_predictions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/number_format.h"
#include "data/input_pipeline/example_source.h"
#include "evaluation/metrics/correlation.h"
#include "evaluation/metrics/retrieval.h"
#include "io/filesystem/file.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/kept_rows.h"
#include "pipeline/objectives/pretrained_model.h"

namespace smelt::pipeline {
namespace {

constexpr std::uint64_t kExamplesOfBatch = 4096;
// The metrics of rows without scores, and their names in retrieval_metrics().
constexpr std::array kRetrieval{
    std::pair{"ndcg_at_10", "ndcg@10"}, std::pair{"mrr_at_10", "mrr@10"},
    std::pair{"recall_at_10", "recall@10"}, std::pair{"map_at_100", "map@100"}};

// Held-out examples. Texts that occur in several examples are stored once.
struct HeldOutTexts {
  std::vector<std::vector<std::int32_t>> ids;    // of each different text
  std::vector<std::vector<std::size_t>> of_row;  // texts of each example: anchor, positive, …
  std::vector<double> scores;                    // of each example, if there are scores
};

HeldOutTexts read_texts_of(const std::string& records, const model::EmbeddingTask& task) {
  const io::Features features = model::embedding_task(task).features;
  const auto source = data::open_examples({.input = records, .features = features});
  const auto at = [&](const char* name) { return data::find_feature(features, name); };
  const auto N = static_cast<std::size_t>(task.texts);
  const auto S = static_cast<std::size_t>(task.form.seq_length);
  HeldOutTexts out;
  std::map<std::vector<std::int32_t>, std::size_t> numbers;
  for (std::uint64_t first = 0; first < source->size(); first += kExamplesOfBatch) {
    const auto count = std::min<std::uint64_t>(kExamplesOfBatch, source->size() - first);
    const data::Batch batch = source->examples_in_order(first, count);
    const auto ids = batch.arrays[at("input_ids")].values<std::int32_t>();
    const auto mask = batch.arrays[at("input_mask")].values<std::int32_t>();
    const auto keys = batch.arrays[at("text_keys")].values<std::int32_t>();
    for (std::size_t row = 0; row < count; ++row) {
      auto& texts = out.of_row.emplace_back();
      for (std::size_t text = row * N; text < (row + 1) * N; ++text) {
        if (keys[text] == 0) continue;
        const auto length = std::ranges::count(mask.subspan(text * S, S), 1);
        const auto own = ids.subspan(text * S, static_cast<std::size_t>(length));
        const auto [found, is_new] = numbers.try_emplace({own.begin(), own.end()}, out.ids.size());
        if (is_new) out.ids.emplace_back(own.begin(), own.end());
        texts.push_back(found->second);
      }
      if (model::reads_scores(task.loss))
        out.scores.push_back(batch.arrays[at("score")].values<float>()[row]);
    }
  }
  return out;
}

// The result for each example, and metrics.
struct Evaluated {
  std::vector<double> similarities;
  std::vector<std::size_t> ranks;  // without scores: of the positive, from 1
  std::vector<model::MeasuredValue> measures;
};

void measure_scores(const HeldOutTexts& texts, Evaluated& out) {
  const auto add = [&](const char* name, double value) {
    out.measures.push_back({.name = name,
                            .value = std::isnan(value) ? 0 : value,
                            .weight = static_cast<double>(texts.scores.size())});
  };
  add("pearson", evaluation::pearson(out.similarities, texts.scores));
  add("spearman", evaluation::spearman(out.similarities, texts.scores));
}

std::vector<float> rows_of(const execution::EmbeddingRows& all,
                           const std::vector<std::size_t>& numbers) {
  std::vector<float> out;
  for (const std::size_t number : numbers)
    out.insert(out.end(), all.row(number).begin(), all.row(number).end());
  return out;
}

// Ranks all held-out positives and negatives for each different anchor. All positives of an anchor
// are relevant.
void measure_retrieval(const HeldOutTexts& texts, const execution::EmbeddingRows& embedded,
                       Evaluated& out) {
  constexpr std::size_t kDepth = 100;
  std::map<std::size_t, std::set<std::size_t>> positives;
  std::set<std::size_t> distinct;
  for (const auto& row : texts.of_row) {
    positives[row[0]].insert(row[1]);
    distinct.insert(row.begin() + 1, row.end());
  }
  std::vector<std::size_t> anchors;
  for (const auto& [anchor, relevant] : positives) anchors.push_back(anchor);
  const std::vector<std::size_t> documents(distinct.begin(), distinct.end());
  const auto hits = evaluation::nearest_documents(
      rows_of(embedded, anchors), rows_of(embedded, documents), embedded.width, kDepth);
  std::vector<evaluation::RetrievalMetric> metrics;
  for (const auto& [name, metric] : kRetrieval)
    metrics.push_back(evaluation::retrieval_metrics("eval", metric).front());
  std::vector<double> sums(metrics.size(), 0);
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    const auto& relevant = positives[anchors[i]];
    evaluation::RankedGrades grades{.found = {},
                                    .relevant = std::vector<double>(relevant.size(), 1)};
    for (const auto& hit : hits[i])
      grades.found.push_back(relevant.contains(documents[hit.document]) ? 1 : 0);
    for (std::size_t m = 0; m < metrics.size(); ++m)
      sums[m] += metrics[m].of_query(grades, metrics[m].k);
  }
  const auto all = static_cast<double>(anchors.size());
  for (std::size_t m = 0; m < kRetrieval.size(); ++m)
    out.measures.push_back({.name = kRetrieval[m].first, .value = sums[m] / all, .weight = all});
  for (const auto& row : texts.of_row) {
    const auto& found =
        hits[static_cast<std::size_t>(std::ranges::lower_bound(anchors, row[0]) - anchors.begin())];
    const auto at = std::ranges::find_if(
        found, [&](const auto& hit) { return documents[hit.document] == row[1]; });
    out.ranks.push_back(at == found.end() ? 0 : static_cast<std::size_t>(at - found.begin()) + 1);
  }
}

Evaluated evaluate_texts(const HeldOutTexts& texts, execution::Embedder& embedder,
                         const model::EmbeddingTask& task, Watchdog* watchdog) {
  execution::EmbeddingRows embedded = embedder.embed(texts.ids, watchdog);
  if (model::reads_scores(task.loss) || task.form.similarity == io::Similarity::cosine)
    execution::divide_by_norms(embedded);
  Evaluated out;
  for (const auto& row : texts.of_row) {
    double sum = 0;
    for (std::size_t i = 0; i < embedded.width; ++i)
      sum += static_cast<double>(embedded.row(row[0])[i]) * embedded.row(row[1])[i];
    out.similarities.push_back(sum);
  }
  if (model::reads_scores(task.loss))
    measure_scores(texts, out);
  else
    measure_retrieval(texts, embedded, out);
  return out;
}

class EmbeddingMeasures : public execution::StateMeasures {
 public:
  EmbeddingMeasures(const Recipe& r, model::EmbeddingTask task,
                    std::shared_ptr<const pjrt::Client> client, execution::EmbedJob job)
      : task_(std::move(task)),
        texts_(read_texts_of(RecipePaths(r).heldout_records, task_)),
        embedder_(std::move(client), std::move(job)) {}

  std::vector<model::MeasuredValue> measure(const checkpoint::SlicedTensors& tensors,
                                            const std::string& where, Watchdog* watchdog) override {
    embedder_.take(
        {.tensors = std::make_shared<checkpoint::SlicedTensors>(tensors), .where = where});
    auto out = evaluate_texts(texts_, embedder_, task_, watchdog).measures;
    embedder_.take({});  // frees device memory for training
    return out;
  }

 private:
  model::EmbeddingTask task_;
  HeldOutTexts texts_;
  execution::Embedder embedder_;
};

}  // namespace

std::vector<std::string> retrieval_measures() {
  std::vector<std::string> out;
  for (const auto& [name, metric] : kRetrieval) out.emplace_back(name);
  return out;
}

execution::EmbedJob embed_job(const model::Encoder& encoder, const io::EmbeddingForm& form) {
  return {.embeddings = [encoder,
                         form](std::int64_t S) { return model::text_embeddings(encoder, form, S); },
          .packed_embeddings =
              [encoder, form](std::int64_t S, std::int64_t slots) {
                return model::text_embeddings(encoder, form, S, slots);
              },
          .form = form,
          .width = model::encoder_sizes(encoder).hidden_size,
          .most_tokens = form.seq_length};
}

std::vector<model::MeasuredValue> write_embedding_predictions(const Recipe& r,
                                                              const model::EmbeddingTask& task) {
  const RecipePaths paths(r);
  const HeldOutTexts texts = read_texts_of(paths.scored, task);
  execution::Embedder embedder = PretrainedModel::of_recipe(r).embedder(r.eval.batch_size);
  const Evaluated evaluated = evaluate_texts(texts, embedder, task, nullptr);
  KeptRows kept(paths.scored, texts.of_row.size());
  io::OutputFile file(paths.predictions);
  for (std::size_t i = 0; i < texts.of_row.size(); ++i) {
    OrderedJson line = kept.are_there() ? kept.next() : OrderedJson::object();
    line["label"] = texts.scores.empty() ? 1.0 : texts.scores[i];
    const double similarity = to_f32_digits(static_cast<float>(evaluated.similarities[i]));
    if (evaluated.ranks.empty()) {
      line["prediction"] = similarity;
    } else {
      const auto rank = static_cast<double>(evaluated.ranks[i]);
      line["prediction"] = rank > 0 ? to_f32_digits(static_cast<float>(1 / rank)) : 0.0;
      line["similarity"] = similarity;
    }
    file.write(line.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n");
  }
  file.commit();
  return evaluated.measures;
}

std::unique_ptr<execution::StateMeasures> embedding_measures(
    const Recipe& r, const model::EmbeddingTask& task, std::shared_ptr<const pjrt::Client> client) {
  execution::EmbedJob job = embed_job(task.encoder, task.form);
  job.batch_size = r.eval.batch_size;
  job.exact_products = r.train.compute->precision == model::Precision::f32_exact;
  return std::make_unique<EmbeddingMeasures>(r, task, std::move(client), std::move(job));
}

}  // namespace smelt::pipeline
