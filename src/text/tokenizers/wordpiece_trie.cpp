#include "text/tokenizers/wordpiece_trie.h"

#include <algorithm>
#include <deque>

#include "base/error.h"

namespace smelt::text {

// The sorted pieces that begin with the node's string, of `depth` bytes.
struct WordPieceTrie::Range {
  using Piece = std::pair<std::string_view, std::int32_t>;

  Node node;
  std::size_t depth;
  const Piece* begin;
  const Piece* end;
};

WordPieceTrie::WordPieceTrie(const std::vector<std::string>& pieces,
                             std::string_view continuing_prefix) {
  std::vector<Range::Piece> beginnings, rests;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const std::string_view piece = pieces[id];
    if (piece.empty()) continue;
    beginnings.emplace_back(piece, id);
    if (piece.starts_with(continuing_prefix) && piece.size() > continuing_prefix.size())
      rests.emplace_back(piece.substr(continuing_prefix.size()), id);
  }
  std::ranges::sort(beginnings);
  std::ranges::sort(rests);
  units_.resize(kRest + 1 + 256);
  for (const Node root : {kDead, kBegin, kRest}) units_[root].parent = kRoot;
  // Level by level: failure links lead to shorter strings, whose nodes are complete by then.
  std::deque<Range> open{{kBegin, 0, beginnings.data(), beginnings.data() + beginnings.size()},
                         {kRest, 0, rests.data(), rests.data() + rests.size()}};
  for (; !open.empty(); open.pop_front())
    for (const Range& child : add_children(open.front())) open.push_back(child);
}

std::vector<WordPieceTrie::Range> WordPieceTrie::add_children(const Range& range) {
  std::vector<Range> children;
  std::vector<std::uint8_t> bytes;
  for (const Range::Piece* piece = range.begin; piece != range.end; ++piece) {
    if (piece->first.size() == range.depth) continue;  // the piece of the node itself
    const auto byte = static_cast<std::uint8_t>(piece->first[range.depth]);
    if (bytes.empty() || bytes.back() != byte) {
      bytes.push_back(byte);
      children.push_back({kDead, range.depth + 1, piece, piece});
    }
    children.back().end = piece + 1;
  }
  place(range.node, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Range& next = children[i];
    next.node = child(range.node, bytes[i]);
    if (next.begin->first.size() == next.depth) {
      units_[next.node].failure = kRest;
      units_[next.node].pops = next.begin->second;
    } else {
      link(range.node, next.node, bytes[i]);
    }
  }
  return children;
}

WordPieceTrie::Node WordPieceTrie::child(Node node, std::uint8_t byte) const {
  const Node next = units_[node].base + byte;
  return units_[next].parent == node ? next : kDead;
}

// Finds a base that puts every child of the node at a free place.
void WordPieceTrie::place(Node node, const std::vector<std::uint8_t>& bytes) {
  if (bytes.empty()) return;
  const auto is_free = [&](Node at) { return at >= units_.size() || units_[at].parent == kNone; };
  while (!is_free(first_free_)) ++first_free_;
  Node at = std::max<Node>(first_free_, bytes.front());
  std::size_t occupied = 0, seen = 0;
  for (;; ++at) {
    const Node base = at - bytes.front();
    ++seen;
    if (!is_free(at)) ++occupied;
    if (std::ranges::all_of(bytes, [&](std::uint8_t byte) { return is_free(base + byte); })) break;
  }
  if (occupied * 20 > seen * 19)
    first_free_ = at;  // the few free places before it are hard to fill
  const Node base = at - bytes.front();
  if (base + 256 > units_.size())
    units_.resize(std::max<std::size_t>(base + 256, units_.size() * 3 / 2));
  units_[node].base = base;
  for (const std::uint8_t byte : bytes) units_[base + byte].parent = node;
}

// Sets the failure link and failure pops of `child_node`, the new child of `node` by `byte`, which
// must not be a piece itself. The link is the child by `byte` of the first node on the failure path
// of `node` that has such a child.
void WordPieceTrie::link(Node node, Node child_node, std::uint8_t byte) {
  std::vector<std::int32_t> more;  // pieces to output after those of `node`
  Node from = units_[node].failure;
  while (from != kDead && child(from, byte) == kDead) {
    append_pops(from, more);
    from = units_[from].failure;
  }
  if (from == kDead) return;
  Unit& unit = units_[child_node];
  unit.failure = child(from, byte);
  unit.pops = units_[node].pops;
  if (unit.pops == ~0 && more.size() == 1) {
    unit.pops = more.front();
    return;
  }
  if (!more.empty() && unit.pops >= 0) unit.pops = push_pop(0, unit.pops);
  for (const std::int32_t id : more) unit.pops = push_pop(~unit.pops, id);
}

std::int32_t WordPieceTrie::push_pop(std::uint32_t before, std::int32_t id) {
  pops_.push_back({before, id});
  return ~static_cast<std::int32_t>(pops_.size() - 1);
}

void WordPieceTrie::append_pops(Node node, std::vector<std::int32_t>& ids) const {
  const std::int32_t pops = units_[node].pops;
  if (pops >= 0) return ids.push_back(pops);
  const auto first = std::ssize(ids);
  for (std::uint32_t at = ~pops; at != 0; at = pops_[at].before) ids.push_back(pops_[at].id);
  std::reverse(ids.begin() + first, ids.end());
}

WordPieceTrie::Node WordPieceTrie::fail_and_step(Node node, std::uint8_t byte,
                                                 std::vector<std::int32_t>& ids) const {
  while (node != kDead) {
    append_pops(node, ids);
    node = units_[node].failure;
    if (const Node next = child(node, byte); next != kDead) return next;
  }
  return kDead;
}

bool WordPieceTrie::finish_from(Node node, std::vector<std::int32_t>& ids) const {
  for (; node != kRest; node = units_[node].failure) {
    if (node == kDead) return false;
    append_pops(node, ids);
  }
  return true;
}

}  // namespace smelt::text
