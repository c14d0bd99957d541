// The unigram language model (Kudo 2018): the pieces whose scores, logarithms of probabilities,
// have the largest sum.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizers/flat_map.h"
#include "text/tokenizers/subword_model.h"

namespace smelt {

class UnigramModel final : public SubwordModel {
 public:
  // `pieces` by id; an empty one is never found in a text. A run of characters without a piece is
  // one unknown piece, which costs 10 more than the lowest score.
  UnigramModel(const std::vector<std::string>& pieces, std::vector<double> scores,
               std::int32_t unknown);

  void encode(std::string_view word, std::vector<WordPart>& parts) const override;

 private:
  static constexpr double kUnknownPenalty = 10;

  // The best pieces of a word's beginning: how they end.
  struct Best {
    double score = 0;
    std::uint32_t begin = FlatMap::kNone;  // of the last piece; kNone: no pieces end here
    std::int32_t id = 0;
  };

  void add(const std::string& piece, std::int32_t id);
  void extend(std::string_view word, std::size_t begin, std::vector<Best>& best) const;

  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::int32_t unknown_;
  FlatMap children_;                 // of a node and a byte
  std::vector<std::int32_t> nodes_;  // the piece that ends at a node; -1: none
};

}  // namespace smelt
