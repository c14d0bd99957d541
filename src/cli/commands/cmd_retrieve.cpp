#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/embed_flags.h"
#include "cli/options/hub_names.h"
#include "cli/options/number_check.h"
#include "evaluation/metrics/beir.h"
#include "evaluation/metrics/resample.h"
#include "evaluation/metrics/retrieval.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/config.h"
#include "text/readers/unicode.h"

namespace smelt::cli {
namespace {

struct RetrieveCommand {
  std::string data, split = "test", metrics = "ndcg@10,mrr@10,recall@10,recall@100,map@100", run;
  std::string reranker;
  std::int64_t rerank_depth = 100;  // documents per query that the reranker orders
  bool json = false;
  std::shared_ptr<EmbedFlags> flags;
};

using Hits = std::vector<std::vector<evaluation::SearchHit>>;

execution::EmbeddingRows embed_all(const RetrieveCommand& c, execution::TextEmbedder& embedder,
                                   const std::vector<evaluation::BeirText>& texts) {
  const std::size_t step = c.flags->texts_at_once();
  execution::EmbeddingRows out;
  for (std::size_t first = 0; first < texts.size(); first += step) {
    std::vector<std::string> part;
    for (std::size_t i = first; i < std::min(first + step, texts.size()); ++i)
      part.push_back(text::nfc(texts[i].text));
    const execution::EmbeddingRows rows = c.flags->embed(embedder, part);
    out.width = rows.width;
    out.values.insert(out.values.end(), rows.values.begin(), rows.values.end());
  }
  return out;
}

// Removes the document with the id of its query, as BEIR's evaluation does (in some datasets the
// queries are documents), and keeps `depth` documents per query.
void drop_own_documents(const evaluation::BeirData& data, Hits& hits, std::size_t depth) {
  for (std::size_t i = 0; i < hits.size(); ++i) {
    std::erase_if(hits[i], [&](const evaluation::SearchHit& hit) {
      return data.documents[hit.document].id == data.queries[i].id;
    });
    if (hits[i].size() > depth) hits[i].resize(depth);
  }
}

// Loads the model of --rerank. Throws UsageError if it does not predict one number for two texts.
execution::Classifier load_reranker(const RetrieveCommand& c) {
  const pipeline::LoadOptions& options = c.flags->model->stored;
  const auto model =
      pipeline::PretrainedModel::load(c.reranker, {.task = pipeline::InferenceTask::classify,
                                                   .command = "retrieve",
                                                   .device = options.device,
                                                   .precision = options.precision});
  execution::Classifier out = model.classifier({.batch_size = c.flags->batch});
  if (const io::Problem problem = out.job().labels.problem; !io::is_number(problem))
    throw UsageError(str("retrieve: --rerank ", c.reranker, ": the model's problem is ",
                         io::field_json(problem), ", expected rerank or regression"),
                     "train a reranker with model.type classify and model.problem rerank");
  return out;
}

// Orders the first --rerank-depth documents of each query by the scores of the reranker. The other
// documents follow in their order, with smaller scores.
void rerank(const RetrieveCommand& c, const evaluation::BeirData& data,
            execution::Classifier& reranker, Hits& hits) {
  const std::size_t at_once = c.flags->texts_at_once();
  std::vector<evaluation::SearchHit*> scored;
  std::vector<execution::PairOfTexts> pairs;
  const auto flush = [&] {
    if (StopSignal::raised())
      throw Stopped("retrieve: stopped by a signal", "run the same command again");
    const auto scores = reranker.classify(std::span<const execution::PairOfTexts>(pairs));
    for (std::size_t i = 0; i < scored.size(); ++i) scored[i]->score = scores[i].front();
    scored.clear();
    pairs.clear();
  };
  const auto depth = static_cast<std::size_t>(c.rerank_depth);
  for (std::size_t query = 0; query < hits.size(); ++query)
    for (std::size_t i = 0; i < std::min(depth, hits[query].size()); ++i) {
      scored.push_back(&hits[query][i]);
      pairs.push_back({text::nfc(data.queries[query].text),
                       text::nfc(data.documents[hits[query][i].document].text)});
      if (pairs.size() == at_once) flush();
    }
  flush();
  for (auto& found : hits) {
    const std::size_t count = std::min(depth, found.size());
    std::ranges::stable_sort(std::span(found).first(count), std::greater<>(),
                             &evaluation::SearchHit::score);
    for (std::size_t i = std::max<std::size_t>(count, 1); i < found.size(); ++i)
      found[i].score = found[i - 1].score - 1;
  }
  if (reranker.cut() > 0)
    log_warning("retrieve: {} longer than the reranker's maximum of {} tokens: truncated",
                counted(reranker.cut(), "pair is", "pairs are"), reranker.job().most_tokens);
}

// Writes the documents found in the format of trec_eval: query, Q0, document, rank, score, name.
// trec_eval orders documents by score alone, so a score that is not below the previous one is
// lowered to the next smaller float.
void write_run(const std::string& path, const evaluation::BeirData& data, const Hits& hits) {
  io::OutputFile file(path);
  float before = 0;
  for (std::size_t i = 0; i < hits.size(); ++i)
    for (std::size_t rank = 0; rank < hits[i].size(); ++rank) {
      float score = hits[i][rank].score;
      if (rank > 0)
        score = std::min(score, std::nextafter(before, std::numeric_limits<float>::lowest()));
      before = score;
      file.write(str(data.queries[i].id, " Q0 ", data.documents[hits[i][rank].document].id, " ",
                     rank + 1, " ", significant(score, 9), " smelt\n"));
    }
  file.commit();
}

std::vector<evaluation::RankedGrades> graded(const evaluation::BeirData& data, const Hits& hits) {
  std::vector<evaluation::RankedGrades> out(hits.size());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    std::map<std::size_t, double> grades;
    for (const evaluation::BeirGrade& one : data.grades[i]) grades[one.document] = one.grade;
    for (const auto& [document, grade] : grades)
      if (grade > 0) out[i].relevant.push_back(grade);
    for (const evaluation::SearchHit& hit : hits[i]) {
      const auto found = grades.find(hit.document);
      out[i].found.push_back(found == grades.end() ? 0 : found->second);
    }
  }
  return out;
}

void print_metrics(const RetrieveCommand& c,
                   const std::vector<evaluation::RetrievalMetric>& metrics,
                   const std::vector<evaluation::RankedGrades>& queries, std::size_t documents) {
  OrderedJson json{{"queries", queries.size()}, {"documents", documents}};
  if (!c.json)
    std::cout << counted(queries.size(), "query", "queries") << ", "
              << counted(documents, "document") << "\n";
  for (const evaluation::RetrievalMetric& metric : metrics) {
    std::vector<double> values;
    for (const auto& query : queries) values.push_back(metric.of_query(query, metric.k));
    const evaluation::Interval interval =
        evaluation::bootstrap(values.size(), [&](std::span<const std::size_t> chosen) {
          double sum = 0;
          for (const std::size_t i : chosen) sum += values[i];
          return sum / static_cast<double>(chosen.size());
        });
    json[metric.name] = {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
    if (!c.json)
      std::cout << std::left << std::setw(12) << metric.name << std::right << std::fixed
                << std::setprecision(4) << interval.value << "  [" << interval.low << ", "
                << interval.high << "]\n";
  }
  if (c.json) std::cout << json.dump() << "\n";
}

void retrieve(const RetrieveCommand& c) {
  const auto metrics = evaluation::retrieval_metrics("--metric", c.metrics);
  std::size_t depth = 1;
  for (const auto& metric : metrics) depth = std::max(depth, metric.k);
  if (!c.run.empty() && io::exists(c.run))
    throw UsageError(str("retrieve: --run ", c.run, " exists"), "name another file, or remove it");
  const evaluation::BeirData data = evaluation::read_beir(c.data, c.split, "retrieve");
  execution::TextEmbedder embedder = c.flags->load();
  std::optional<execution::Classifier> reranker;
  if (!c.reranker.empty()) reranker.emplace(load_reranker(c));
  const StopSignal stop("retrieve: stopping after this batch\n");
  execution::EmbeddingRows documents = embed_all(c, embedder, data.documents);
  execution::EmbeddingRows queries = embed_all(c, embedder, data.queries);
  if (embedder.job().form.similarity == io::Similarity::cosine) {
    execution::divide_by_norms(documents);
    execution::divide_by_norms(queries);
  }
  c.flags->warn_of_cut(embedder);
  const auto rerank_depth = static_cast<std::size_t>(reranker ? c.rerank_depth : 0);
  depth = std::max(depth, rerank_depth);
  Hits hits =
      evaluation::nearest_documents(queries.values, documents.values, documents.width, depth + 1);
  drop_own_documents(data, hits, depth);
  if (reranker) rerank(c, data, *reranker, hits);
  if (!c.run.empty()) write_run(c.run, data, hits);
  print_metrics(c, metrics, graded(data, hits), data.documents.size());
}

}  // namespace

void add_retrieve_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "retrieve", "evaluate an embedding model on a retrieval dataset: nDCG, MRR, recall, MAP");
  auto c = std::make_shared<RetrieveCommand>();
  c->flags = add_embed_flags(*command);
  command
      ->add_option("--data", c->data,
                   "folder of a dataset in BEIR's layout: corpus.jsonl, queries.jsonl, "
                   "qrels/test.tsv")
      ->required();
  command->add_option("--split", c->split, "the split: qrels/SPLIT.tsv")->capture_default_str();
  command->add_option("--metric", c->metrics, "metrics: ndcg@K, mrr@K, recall@K, map@K")
      ->capture_default_str();
  auto* rerank = accept_hub_names(command->add_option(
      "--rerank", c->reranker,
      "also order the first documents found by the scores of this reranker: a run folder, a model "
      "folder or a CrossEncoder"));
  command
      ->add_option("--rerank-depth", c->rerank_depth,
                   "number of documents per query that the reranker orders")
      ->needs(rerank)
      ->check(number_from(1))
      ->capture_default_str();
  command->add_option("--run", c->run, "also write the documents found, for trec_eval");
  command->add_flag("--json", c->json, "print one JSON object");
  command->callback([c] { retrieve(*c); });
}

}  // namespace smelt::cli
