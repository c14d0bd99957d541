// LinMaxMatch (Song et al. 2021, "Fast WordPiece Tokenization", sections 3.2 and 3.3): greedy
// longest-match-first in one step a byte. A trie of the pieces, in which every node knows which
// pieces to put out when its string cannot be continued (failure pops) and at which node to go on
// (failure link). The pieces stand twice: as they are, for a word's beginning, and those with the
// continuing prefix without it, for its rest. So "##" in a word is text like any other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// Immutable: one may serve several threads.
class WordPieceTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kBegin = 1;  // of a word
  static constexpr Node kRest = 2;   // of a word, after a piece
  static constexpr Node kDead = 0;   // no pieces spell the word

  // The id of a piece is its place in `pieces`, of which none is there twice; empty ones are ids
  // without a piece.
  WordPieceTrie(const std::vector<std::string>& pieces, std::string_view continuing_prefix);

  // The node after one more byte of a word; appends the pieces that are certain by now.
  Node step(Node node, std::uint8_t byte, std::vector<std::int32_t>& ids) const {
    const Node next = units_[node].base + byte;
    return units_[next].parent == node ? next : fail_and_step(node, byte, ids);
  }
  // Appends the pieces of the word's end; false when no pieces spell the word, of which some may be
  // appended.
  bool finish(Node node, std::vector<std::int32_t>& ids) const {
    if (units_[node].failure != kRest || units_[node].pops < 0) return finish_from(node, ids);
    ids.push_back(units_[node].pops);
    return true;
  }

 private:
  static constexpr Node kNone = ~Node{0};   // parent of a free unit
  static constexpr Node kRoot = kNone - 1;  // parent of a node that has none

  // A double array (Aoe 1989): the child of n by byte b is base(n) + b if that one's parent is n.
  struct Unit {
    Node base = 0;
    Node parent = kNone;
    Node failure = kDead;
    std::int32_t pops = ~0;  // the one piece; or ~ which of pops_ is their last
  };
  // A list, last to first, whose beginning many nodes share: all of them together are no longer
  // than the pieces' bytes. The first of all is the empty list.
  struct Pop {
    std::uint32_t before;
    std::int32_t id;
  };
  struct Range;

  Node fail_and_step(Node node, std::uint8_t byte, std::vector<std::int32_t>& ids) const;
  bool finish_from(Node node, std::vector<std::int32_t>& ids) const;
  std::int32_t push_pop(std::uint32_t before, std::int32_t id);  // gives a Unit's `pops`
  void append_pops(Node node, std::vector<std::int32_t>& ids) const;
  Node child(Node node, std::uint8_t byte) const;
  std::vector<Range> add_children(const Range& range);
  void place(Node node, const std::vector<std::uint8_t>& bytes);
  void link(Node node, Node child, std::uint8_t byte);

  std::vector<Unit> units_;
  std::vector<Pop> pops_{{0, 0}};
  Node first_free_ = kRest + 1;
};

}  // namespace smelt
