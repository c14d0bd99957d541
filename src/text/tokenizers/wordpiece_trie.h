// LinMaxMatch (Song et al. 2021, "Fast WordPiece Tokenization", sections 3.2 and 3.3): greedy
// longest-match-first in one step per byte. A trie of the pieces in which each node stores the
// pieces to output if its string cannot be continued (failure pops) and the node to continue from
// (failure link). Pieces are stored twice: unchanged, for the beginning of a word, and, if they
// have the continuing prefix, without it, for the rest. So "##" in a word is ordinary text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::text {

// Immutable and thread-safe.
class WordPieceTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kBegin = 1;  // beginning of a word
  static constexpr Node kRest = 2;   // within a word, after a piece
  static constexpr Node kDead = 0;   // the word cannot be split into pieces

  // The id of a piece is its index in `pieces`, which must be unique; empty ones are unused ids.
  WordPieceTrie(const std::vector<std::string>& pieces, std::string_view continuing_prefix);

  // Returns the node after one more byte of a word; appends the pieces that are certain by now.
  Node step(Node node, std::uint8_t byte, std::vector<std::int32_t>& ids) const {
    const Node next = units_[node].base + byte;
    return units_[next].parent == node ? next : fail_and_step(node, byte, ids);
  }
  // Appends the pieces of the word's end. Returns false if the word cannot be split into pieces;
  // some may have been appended.
  bool finish(Node node, std::vector<std::int32_t>& ids) const {
    if (units_[node].failure != kRest || units_[node].pops < 0) return finish_from(node, ids);
    ids.push_back(units_[node].pops);
    return true;
  }

 private:
  static constexpr Node kNone = ~Node{0};   // parent of a free unit
  static constexpr Node kRoot = kNone - 1;  // parent of a root node

  // A double array (Aoe 1989): the child of n by byte b is base(n) + b if that unit's parent is n.
  struct Unit {
    Node base = 0;
    Node parent = kNone;
    Node failure = kDead;
    std::int32_t pops = ~0;  // the single piece, or ~index of the last one in pops_
  };
  // A node of a linked list: the pieces to output before a failure link is followed, from the last
  // piece to the first. Lists that begin with the same pieces share nodes, so there are at most as
  // many nodes as bytes in all pieces. Element 0 is the empty list.
  struct Pop {
    std::uint32_t before;
    std::int32_t id;
  };
  struct Range;

  Node fail_and_step(Node node, std::uint8_t byte, std::vector<std::int32_t>& ids) const;
  bool finish_from(Node node, std::vector<std::int32_t>& ids) const;
  // Adds a piece to the end of the list `before`. Returns the new list as a value of Unit::pops.
  std::int32_t push_pop(std::uint32_t before, std::int32_t id);
  void append_pops(Node node, std::vector<std::int32_t>& ids) const;
  Node child(Node node, std::uint8_t byte) const;
  std::vector<Range> add_children(const Range& range);
  void place(Node node, const std::vector<std::uint8_t>& bytes);
  void link(Node node, Node child, std::uint8_t byte);

  std::vector<Unit> units_;
  std::vector<Pop> pops_{{0, 0}};
  Node first_free_ = kRest + 1;
};

}  // namespace smelt::text
