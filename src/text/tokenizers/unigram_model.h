// The unigram language model (Kudo 2018): chooses the pieces with the largest sum of scores (log
// probabilities).
#pragma once

#include <string>
#include <vector>

#include "text/tokenizers/flat_map.h"
#include "text/tokenizers/subword_model.h"

namespace smelt::text {

class UnigramModel final : public SubwordModel {
 public:
  // `pieces` are indexed by id; an empty one never matches. A run of characters without a piece
  // becomes one unknown piece, whose score is 10 below the lowest.
  UnigramModel(const std::vector<std::string>& pieces, std::vector<double> scores,
               std::int32_t unknown);

  void encode(std::string_view word, std::vector<WordPart>& parts) const override;

 private:
  static constexpr double kUnknownPenalty = 10;

  // The best segmentation of a prefix of the word, by its last piece.
  struct Best {
    double score = 0;
    std::uint32_t begin = FlatMap::kNone;  // where the last piece begins; kNone: no pieces end here
    std::int32_t id = 0;
  };

  void add(const std::string& piece, std::int32_t id);
  void extend(std::string_view word, std::size_t begin, std::vector<Best>& best) const;

  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::int32_t unknown_;
  FlatMap children_;                 // child by node and byte
  std::vector<std::int32_t> nodes_;  // piece that ends at a node; -1: none
};

}  // namespace smelt::text
