// Byte-pair encoding (Sennrich et al. 2016): neighbouring pieces are merged, the pair that was
// learned first before the others.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/tokenizers/flat_map.h"
#include "text/tokenizers/subword_model.h"

namespace smelt {

struct BpeSettings {
  bool bytes = false;          // words are split into bytes first, else into characters
  std::int32_t unknown = -1;   // for characters without a piece; -1: they vanish
  bool fuse_unknown = false;   // a run of unknown characters is one piece
  bool ignore_merges = false;  // a word that is a piece is that piece, whatever the merges give

  bool operator==(const BpeSettings&) const = default;
};

class BpeModel final : public SubwordModel {
 public:
  using Merge = std::pair<std::int32_t, std::int32_t>;  // ids of the left and the right piece

  // `pieces` by id; an empty one is no piece of words. Of `merges`, the best first, each one's two
  // pieces put together have to be a piece, too. Throws UsageError with `origin` otherwise.
  BpeModel(const std::vector<std::string>& pieces, const std::vector<Merge>& merges,
           const BpeSettings& settings, std::string_view origin);

  void encode(std::string_view word, std::vector<WordPart>& parts) const override;

 private:
  struct Word;

  void encode_anew(std::string_view word, std::vector<WordPart>& parts) const;
  void split(std::string_view word, std::vector<WordPart>& symbols) const;
  void merge(std::vector<WordPart>& symbols) const;
  void merge_long(std::vector<WordPart>& symbols) const;
  std::uint32_t rank(std::int32_t left, std::int32_t right) const {
    return ranks_.find(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right));
  }

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  BpeSettings settings_;
  std::uint64_t number_;  // of this model, for what threads remember
  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> ids_;
  std::vector<bool> is_whole_;          // by id: the merges of the piece's text give the piece
  std::vector<std::int32_t> byte_ids_;  // by byte; -1: no piece
  FlatMap ranks_;                       // of a pair
  std::vector<std::int32_t> merged_;    // by rank: the piece that the merge gives
};

}  // namespace smelt
