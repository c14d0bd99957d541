#include "evaluation/metrics/reranking.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluation/metrics/correlation.h"
#include "evaluation/metrics/retrieval.h"

namespace smelt::evaluation {
namespace {

constexpr std::size_t kDepth = 10;

struct Documents {
  std::vector<double> scores, relevant;  // relevant is 0 or 1
};

// Returns the gain at each rank, best first. Documents with equal scores share their mean gain, so
// that their order does not matter (McSherry & Najork 2008).
std::vector<double> shared_gains(const Documents& of, const std::vector<std::size_t>& order) {
  std::vector<double> out;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double sum = 0;
    while (end < order.size() && of.scores[order[end]] == of.scores[order[begin]])
      sum += of.relevant[order[end++]];
    out.resize(end, sum / static_cast<double>(end - begin));
  }
  return out;
}

void add_query(const Documents& of, RerankingMetrics& out) {
  std::vector<std::size_t> order(of.scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // If scores are equal, the later document comes first, as in sentence-transformers. A constant
  // score then gains nothing from rows whose first document is the relevant one.
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return of.scores[i]; });
  std::ranges::reverse(order);
  RankedGrades ranked;
  for (const std::size_t i : order) ranked.found.push_back(of.relevant[i]);
  ranked.relevant.assign(static_cast<std::size_t>(std::ranges::count(of.relevant, 1.0)), 1.0);
  out.mrr += reciprocal_rank(ranked, kDepth);
  ranked.found = shared_gains(of, order);
  out.ndcg += ndcg(ranked, kDepth);
  out.map += average_precision_score(of.scores, of.relevant);
  ++out.queries;
}

}  // namespace

RerankingMetrics reranking_metrics(std::span<const std::string> queries,
                                   std::span<const double> scores, std::span<const double> labels) {
  CHECK(queries.size() == scores.size() && scores.size() == labels.size(), queries.size());
  std::map<std::string_view, Documents> of_query;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    Documents& documents = of_query[queries[i]];
    documents.scores.push_back(scores[i]);
    documents.relevant.push_back(labels[i] >= 0.5 ? 1 : 0);
  }
  RerankingMetrics out;
  for (const auto& [query, documents] : of_query) {
    const auto relevant = std::ranges::count(documents.relevant, 1.0);
    if (relevant > 0 && relevant < std::ssize(documents.relevant)) add_query(documents, out);
  }
  if (out.queries == 0) return out;
  for (double* value : {&out.ndcg, &out.mrr, &out.map}) *value /= static_cast<double>(out.queries);
  return out;
}

}  // namespace smelt::evaluation
