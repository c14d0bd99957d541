#include "text/tokenizers/unigram_model.h"

#include <algorithm>

#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

std::size_t total_bytes(const std::vector<std::string>& pieces) {
  std::size_t bytes = 0;
  for (const std::string& piece : pieces) bytes += piece.size();
  return bytes;
}

std::uint64_t edge(std::uint32_t node, char byte) {
  return static_cast<std::uint64_t>(node) << 8 | static_cast<std::uint8_t>(byte);
}

}  // namespace

UnigramModel::UnigramModel(const std::vector<std::string>& pieces, std::vector<double> scores,
                           std::int32_t unknown)
    : scores_(std::move(scores)), unknown_(unknown), children_(total_bytes(pieces)), nodes_(1, -1) {
  double lowest = 0;
  for (const double score : scores_) lowest = std::min(lowest, score);
  unknown_score_ = lowest - kUnknownPenalty;
  for (std::size_t id = 0; id < pieces.size(); ++id)
    if (!pieces[id].empty()) add(pieces[id], static_cast<std::int32_t>(id));
}

void UnigramModel::add(const std::string& piece, std::int32_t id) {
  std::uint32_t node = 0;
  for (const char byte : piece) {
    std::uint32_t next = children_.find(edge(node, byte));
    if (next == FlatMap::kNone) {
      next = static_cast<std::uint32_t>(nodes_.size());
      children_.insert_or_assign(edge(node, byte), next);
      nodes_.push_back(-1);
    }
    node = next;
  }
  nodes_[node] = id;
}

// Updates the best segmentations with the pieces that begin at `begin`.
void UnigramModel::extend(std::string_view word, std::size_t begin, std::vector<Best>& best) const {
  const double here = best[begin].score;
  std::size_t first_end = begin + 1;  // end of the first character
  while (first_end < word.size() && continues_character(word[first_end])) ++first_end;
  const auto offer = [&](std::size_t end, std::int32_t id, double score) {
    Best& there = best[end];
    if (there.begin == FlatMap::kNone || score + here > there.score)
      there = {score + here, static_cast<std::uint32_t>(begin), id};
  };
  bool knows_first = false;
  std::uint32_t node = 0;
  for (std::size_t at = begin; at < word.size(); ++at) {
    node = children_.find(edge(node, word[at]));
    if (node == FlatMap::kNone) break;
    if (const std::int32_t id = nodes_[node]; id >= 0) {
      offer(at + 1, id, scores_[static_cast<std::size_t>(id)]);
      knows_first = knows_first || at + 1 == first_end;
    }
  }
  if (!knows_first) offer(first_end, unknown_, unknown_score_);
}

void UnigramModel::encode(std::string_view word, std::vector<WordPart>& parts) const {
  thread_local std::vector<Best> best;
  best.assign(word.size() + 1, {});
  for (std::size_t begin = 0; begin < word.size(); ++begin)
    if (!continues_character(word[begin])) extend(word, begin, best);
  const std::size_t first = parts.size();
  for (std::size_t end = word.size(); end > 0;) {
    const Best& last = best[end];
    const auto bytes = static_cast<std::uint32_t>(end - last.begin);
    const bool joins = last.id == unknown_ && parts.size() > first && parts.back().id == unknown_;
    if (joins)
      parts.back().bytes += bytes;
    else
      parts.push_back({last.id, bytes});
    end = last.begin;
  }
  std::reverse(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end());
}

}  // namespace smelt::text
