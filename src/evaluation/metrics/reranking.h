// Metrics of a reranker: how well its scores order the documents of each query.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace smelt::evaluation {

// Means over the queries that have both relevant and other documents.
struct RerankingMetrics {
  double ndcg = 0;          // nDCG of the first 10 documents; equal scores share their gains
  double mrr = 0;           // 1 / rank of the first relevant document; 0 if the rank is above 10
  double map = 0;           // average precision of all documents
  std::size_t queries = 0;  // number of these queries
};

// Returns the metrics of pairs of a query and a document. Pair i has the text queries[i], a score
// and a label; a label of at least 0.5 means relevant. Equal to sentence-transformers'
// CrossEncoderRerankingEvaluator.
RerankingMetrics reranking_metrics(std::span<const std::string> queries,
                                   std::span<const double> scores, std::span<const double> labels);

}  // namespace smelt::evaluation
