// Byte-pair encoding (Sennrich et al. 2016): merges pairs of adjacent pieces. Pairs are merged in
// the order in which they were learned.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/tokenizers/flat_map.h"
#include "text/tokenizers/subword_model.h"

namespace smelt::text {

struct BpeSettings {
  bool bytes = false;          // split words into bytes first; false: into characters
  std::int32_t unknown = -1;   // id for characters without a piece; -1: they are dropped
  bool fuse_unknown = false;   // make a run of unknown characters one piece
  bool ignore_merges = false;  // a word that is itself a piece is not split

  bool operator==(const BpeSettings&) const = default;
};

class BpeModel final : public SubwordModel {
 public:
  using Merge = std::pair<std::int32_t, std::int32_t>;  // ids of the left and right piece

  // `pieces` are indexed by id; an empty one never matches. `merges` are sorted best first, and the
  // concatenation of each pair must also be a piece; otherwise throws UsageError with `origin`.
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
  std::uint64_t number_;  // unique number of this model, for the per-thread cache
  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> ids_;
  std::vector<bool> is_whole_;          // by id: whether the piece's text is encoded as this piece
  std::vector<std::int32_t> byte_ids_;  // by byte; -1: no piece
  FlatMap ranks_;                       // rank of a pair
  std::vector<std::int32_t> merged_;    // by rank: resulting piece
};

}  // namespace smelt::text
