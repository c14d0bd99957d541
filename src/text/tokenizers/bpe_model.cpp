#include "text/tokenizers/bpe_model.h"

#include <algorithm>
#include <atomic>
#include <queue>

#include "base/error.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

// Words with more symbols are merged with a priority queue.
constexpr std::size_t kShortWord = 48;

// A per-thread cache of recently split words of one model.
struct SplitWords {
  static constexpr std::size_t kMostWords = 1 << 15, kLongest = 64;

  std::uint64_t model = 0;
  std::unordered_map<std::string, std::vector<WordPart>> words;
};

std::uint64_t next_model() {
  static std::atomic<std::uint64_t> models{0};
  return ++models;
}

}  // namespace

BpeModel::BpeModel(const std::vector<std::string>& pieces, const std::vector<Merge>& merges,
                   const BpeSettings& settings, std::string_view origin)
    : settings_(settings), number_(next_model()), byte_ids_(256, -1), ranks_(merges.size()) {
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].empty()) continue;
    ids_.insert_or_assign(pieces[id], static_cast<std::int32_t>(id));
    if (pieces[id].size() == 1)
      byte_ids_[static_cast<std::uint8_t>(pieces[id][0])] = static_cast<std::int32_t>(id);
  }
  for (const auto& [left, right] : merges) {
    const auto found = ids_.find(pieces.at(static_cast<std::size_t>(left)) +
                                 pieces.at(static_cast<std::size_t>(right)));
    if (found == ids_.end())
      throw UsageError(str(origin, ": merge ", merged_.size(), " of pieces ", left, " and ", right,
                           " gives text that is not in the vocabulary"),
                       "use the vocabulary and the merges of one model");
    // If a merge occurs twice, the later one is used, as in Hugging Face's tokenizers.
    ranks_.insert_or_assign(
        static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right),
        static_cast<std::uint32_t>(merged_.size()));
    merged_.push_back(found->second);
  }
  is_whole_.resize(pieces.size());
  std::vector<WordPart> parts;
  for (const auto& [piece, id] : ids_) {
    parts.clear();
    encode_anew(piece, parts);
    is_whole_[static_cast<std::size_t>(id)] = parts.size() == 1 && parts[0].id == id;
  }
}

void BpeModel::encode(std::string_view word, std::vector<WordPart>& parts) const {
  if (const auto found = ids_.find(word);
      found != ids_.end() &&
      (settings_.ignore_merges || is_whole_[static_cast<std::size_t>(found->second)]))
    return parts.push_back({found->second, static_cast<std::uint32_t>(word.size())});
  if (word.size() > SplitWords::kLongest) return encode_anew(word, parts);
  thread_local SplitWords known;
  if (known.model != number_ || known.words.size() > SplitWords::kMostWords) {
    known.words.clear();
    known.model = number_;
  }
  auto [entry, is_new] = known.words.try_emplace(std::string(word));
  if (is_new) encode_anew(word, entry->second);
  parts.insert(parts.end(), entry->second.begin(), entry->second.end());
}

void BpeModel::encode_anew(std::string_view word, std::vector<WordPart>& parts) const {
  std::vector<WordPart> symbols;
  split(word, symbols);
  if (symbols.size() > kShortWord)
    merge_long(symbols);
  else
    merge(symbols);
  parts.insert(parts.end(), symbols.begin(), symbols.end());
}

void BpeModel::split(std::string_view word, std::vector<WordPart>& symbols) const {
  bool after_unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    std::size_t end = at + 1;
    while (!settings_.bytes && end < word.size() && continues_character(word[end])) ++end;
    const auto bytes = static_cast<std::uint32_t>(end - at);
    std::int32_t id = byte_ids_[static_cast<std::uint8_t>(word[at])];
    if (bytes > 1) {
      const auto found = ids_.find(word.substr(at, bytes));
      id = found == ids_.end() ? -1 : found->second;
    }
    at = end;
    const bool unknown = id < 0;
    if (unknown && after_unknown && settings_.fuse_unknown && settings_.unknown >= 0)
      symbols.back().bytes += bytes;
    else if (!unknown || settings_.unknown >= 0)
      symbols.push_back({unknown ? settings_.unknown : id, bytes});
    after_unknown = unknown;
  }
}

// Merges the best pair, leftmost first, until no pair can be merged.
void BpeModel::merge(std::vector<WordPart>& symbols) const {
  if (symbols.size() < 2) return;
  std::vector<std::uint32_t> ranks;  // rank of the pair of symbols i and i + 1
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    ranks.push_back(rank(symbols[i].id, symbols[i + 1].id));
  while (!ranks.empty()) {
    const auto best = std::ranges::min_element(ranks);
    if (*best == FlatMap::kNone) return;
    const auto i = static_cast<std::size_t>(best - ranks.begin());
    symbols[i] = {merged_[*best], symbols[i].bytes + symbols[i + 1].bytes};
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    ranks.erase(best);
    if (i > 0) ranks[i - 1] = rank(symbols[i - 1].id, symbols[i].id);
    if (i < ranks.size()) ranks[i] = rank(symbols[i].id, symbols[i + 1].id);
  }
}

// Does the same as merge() in O(n log n) time.
void BpeModel::merge_long(std::vector<WordPart>& symbols) const {
  struct Candidate {
    std::uint32_t rank;
    std::size_t left, right;
    std::int32_t left_id, right_id;

    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  const std::size_t end = symbols.size();
  std::vector<std::size_t> before(end), after(end);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](std::size_t left, std::size_t right) {
    if (left >= end || right >= end) return;
    const std::uint32_t found = rank(symbols[left].id, symbols[right].id);
    if (found != FlatMap::kNone)
      queue.push({found, left, right, symbols[left].id, symbols[right].id});
  };
  for (std::size_t i = 0; i < end; ++i) {
    before[i] = i == 0 ? end : i - 1;
    after[i] = i + 1;
    offer(i, i + 1);
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    WordPart& left = symbols[best.left];
    WordPart& right = symbols[best.right];
    if (left.bytes == 0 || right.bytes == 0 || after[best.left] != best.right ||
        left.id != best.left_id || right.id != best.right_id)
      continue;
    left = {merged_[best.rank], left.bytes + right.bytes};
    right.bytes = 0;
    after[best.left] = after[best.right];
    if (after[best.right] < end) before[after[best.right]] = best.left;
    offer(before[best.left], best.left);
    offer(best.left, after[best.left]);
  }
  std::erase_if(symbols, [](const WordPart& part) { return part.bytes == 0; });
}

}  // namespace smelt::text
