// Exact search in embeddings, and metrics of ranked documents as trec_eval and
// sentence-transformers' InformationRetrievalEvaluator define them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smelt::evaluation {

struct SearchHit {
  std::size_t document = 0;  // row of the documents
  float score = 0;
};

// Returns for each query the k documents with the largest dot products (fewer if there are fewer
// documents), best first; of equal scores the document that comes first. `queries` and `documents`
// are matrices with rows of `width` numbers. Uses all cores.
std::vector<std::vector<SearchHit>> nearest_documents(std::span<const float> queries,
                                                      std::span<const float> documents,
                                                      std::size_t width, std::size_t k);

// The documents found for a query. A document is relevant if its grade is above 0.
struct RankedGrades {
  std::vector<double> found;     // grades of the documents found, best first
  std::vector<double> relevant;  // grades of all relevant documents of the query; not empty
};

// Discounted cumulative gain of the first k documents over that of the best order: grade i
// counts grade / log2(i + 1), i from 1 (Järvelin & Kekäläinen 2002).
double ndcg(const RankedGrades& query, std::size_t k);
// 1 / rank of the first relevant document among the first k; 0 if there is none.
double reciprocal_rank(const RankedGrades& query, std::size_t k);
// Share of the relevant documents that are among the first k.
double recall(const RankedGrades& query, std::size_t k);
// Mean over the relevant documents of the precision at their ranks, with 0 for those that are not
// among the first k (map_cut of trec_eval).
double average_precision(const RankedGrades& query, std::size_t k);

// A metric by name: ndcg@K, mrr@K, recall@K or map@K.
struct RetrievalMetric {
  std::string name;
  double (*of_query)(const RankedGrades& query, std::size_t k);
  std::size_t k;
};
// Returns the metrics in a comma-separated list. Throws UsageError, beginning with `where`, for an
// unknown name.
std::vector<RetrievalMetric> retrieval_metrics(const std::string& where, std::string_view list);

}  // namespace smelt::evaluation
