#include "evaluation/metrics/retrieval.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/parallel.h"
#include "base/str.h"

namespace smelt::evaluation {
namespace {

float dot_product(const float* a, const float* b, std::size_t width) {
  constexpr std::size_t kLanes = 8;  // independent sums, which the compiler vectorizes
  std::array<float, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= width; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  float out = 0;
  for (const float sum : sums) out += sum;
  for (; i < width; ++i) out += a[i] * b[i];
  return out;
}

bool is_better(const SearchHit& a, const SearchHit& b) {
  return a.score != b.score ? a.score > b.score : a.document < b.document;
}

// Searches all documents for the queries [first, last).
void search_block(std::span<const float> queries, std::span<const float> documents,
                  std::size_t width, std::size_t k, std::size_t first, std::size_t last,
                  std::vector<std::vector<SearchHit>>& out) {
  const std::size_t count = documents.size() / width;
  // A heap of the best documents so far, with the worst one at the front.
  for (std::size_t document = 0; document < count; ++document)
    for (std::size_t query = first; query < last; ++query) {
      auto& best = out[query];
      const SearchHit hit{document, dot_product(queries.data() + query * width,
                                                documents.data() + document * width, width)};
      if (best.size() == k && !is_better(hit, best.front())) continue;
      if (best.size() == k) {
        std::ranges::pop_heap(best, is_better);
        best.pop_back();
      }
      best.push_back(hit);
      std::ranges::push_heap(best, is_better);
    }
  for (std::size_t query = first; query < last; ++query)
    std::ranges::sort_heap(out[query], is_better);
}

double gain_of(std::span<const double> grades, std::size_t k) {
  double out = 0;
  for (std::size_t i = 0; i < std::min(k, grades.size()); ++i)
    out += std::max(grades[i], 0.0) / std::log2(static_cast<double>(i) + 2);
  return out;
}

}  // namespace

std::vector<std::vector<SearchHit>> nearest_documents(std::span<const float> queries,
                                                      std::span<const float> documents,
                                                      std::size_t width, std::size_t k) {
  CHECK(width > 0 && queries.size() % width == 0 && documents.size() % width == 0 && k > 0, width);
  constexpr std::size_t kQueries = 16;  // queries that read a document together
  std::vector<std::vector<SearchHit>> out(queries.size() / width);
  run_each((out.size() + kQueries - 1) / kQueries, available_threads(), [&](std::size_t part) {
    const std::size_t first = part * kQueries;
    search_block(queries, documents, width, k, first, std::min(first + kQueries, out.size()), out);
  });
  return out;
}

double ndcg(const RankedGrades& query, std::size_t k) {
  std::vector<double> best = query.relevant;
  std::ranges::sort(best, std::greater<>());
  const double ideal = gain_of(best, k);
  return ideal > 0 ? gain_of(query.found, k) / ideal : 0;
}

double reciprocal_rank(const RankedGrades& query, std::size_t k) {
  for (std::size_t i = 0; i < std::min(k, query.found.size()); ++i)
    if (query.found[i] > 0) return 1 / (static_cast<double>(i) + 1);
  return 0;
}

double recall(const RankedGrades& query, std::size_t k) {
  const auto found = std::span(query.found).first(std::min(k, query.found.size()));
  const auto hits = std::ranges::count_if(found, [](double grade) { return grade > 0; });
  return static_cast<double>(hits) / static_cast<double>(query.relevant.size());
}

double average_precision(const RankedGrades& query, std::size_t k) {
  double hits = 0, sum = 0;
  for (std::size_t i = 0; i < std::min(k, query.found.size()); ++i)
    if (query.found[i] > 0) sum += ++hits / (static_cast<double>(i) + 1);
  return sum / static_cast<double>(query.relevant.size());
}

std::vector<RetrievalMetric> retrieval_metrics(const std::string& where, std::string_view list) {
  constexpr std::array kKinds{std::pair{"ndcg", &ndcg}, std::pair{"mrr", &reciprocal_rank},
                              std::pair{"recall", &recall}, std::pair{"map", &average_precision}};
  std::vector<RetrievalMetric> out;
  for (const std::string_view word : split(list, ',')) {
    const std::string name(trim(word));
    const std::size_t at = name.find('@');
    const auto kind =
        std::ranges::find(kKinds, std::string_view(name).substr(0, at),
                          [](const auto& one) { return std::string_view(one.first); });
    std::size_t k = 0;
    if (at != std::string::npos)
      std::from_chars(name.data() + at + 1, name.data() + name.size(), k);
    if (kind == kKinds.end() || k == 0 || str(kind->first, "@", k) != name)
      throw UsageError(str(where, ": metric '", name, "' is unknown"),
                       "use ndcg@10, mrr@10, recall@100 or map@100, or another number");
    out.push_back({.name = name, .of_query = kind->second, .k = k});
  }
  return out;
}

}  // namespace smelt::evaluation
