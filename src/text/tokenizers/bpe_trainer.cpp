#include "text/tokenizers/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "base/error.h"
#include "base/progress.h"
#include "text/tokenizers/byte_level.h"

namespace smelt::text {
namespace {

using BpePair = std::pair<std::int32_t, std::int32_t>;

struct BpePairHash {
  std::size_t operator()(const BpePair& p) const {
    return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(p.first) << 32 |
                                      static_cast<std::uint32_t>(p.second));
  }
};

class BpeTrainer {
 public:
  BpeTrainer(const std::map<std::string, std::int64_t>& words,
             const std::vector<std::string>& first, const BpeTrainerOptions& options)
      : options_(options) {
    out_.pieces = first;
    for (std::size_t id = 0; id < first.size(); ++id)
      ids_.emplace(first[id], static_cast<std::int32_t>(id));
    add_bytes();
    for (const auto& [word, count] : words) {
      Word& added = words_.emplace_back(Word{.pieces = {}, .count = count});
      for (const char byte : word)
        added.pieces.push_back(byte_ids_[static_cast<std::uint8_t>(byte)]);
    }
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::size_t i = 0; i + 1 < words_[w].pieces.size(); ++i)
        count_pair({words_[w].pieces[i], words_[w].pieces[i + 1]}, words_[w].count, w);
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
  }

  TrainedBpe run() {
    Progress progress("merging", options_.vocab_size, "pieces", std::ssize(out_.pieces));
    while (std::ssize(out_.pieces) < options_.vocab_size && !queue_.empty()) {
      progress.update(std::ssize(out_.pieces));
      const Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t now = counts_[best.pair];
      if (now != best.count) {  // its count has changed since it was queued
        if (now > 0) queue_.push({now, best.pair});
        continue;
      }
      if (now < std::max<std::int64_t>(options_.min_frequency, 1)) break;
      merge(best.pair);
    }
    return std::move(out_);
  }

 private:
  struct Word {
    std::vector<std::int32_t> pieces;
    std::int64_t count = 0;
  };
  struct Candidate {
    std::int64_t count;
    BpePair pair;

    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void add_bytes() {
    std::vector<std::pair<std::string, std::uint8_t>> characters;
    for (int byte = 0; byte < 256; ++byte)
      characters.emplace_back(to_byte_characters(std::string(1, static_cast<char>(byte))),
                              static_cast<std::uint8_t>(byte));
    std::ranges::sort(characters);
    byte_ids_.resize(256);
    for (const auto& [character, byte] : characters)
      byte_ids_[byte] = add_piece(std::string(1, static_cast<char>(byte)));
  }

  // Returns the existing piece if another merge gave the same text.
  std::int32_t add_piece(const std::string& text) {
    const auto [found, is_new] = ids_.emplace(text, static_cast<std::int32_t>(out_.pieces.size()));
    if (is_new) out_.pieces.push_back(text);
    return found->second;
  }

  void count_pair(const BpePair& pair, std::int64_t by, std::size_t word) {
    counts_[pair] += by;
    if (by > 0) places_[pair].push_back(word);
  }

  void merge(const BpePair& pair) {
    const std::int32_t merged = add_piece(out_.pieces[static_cast<std::size_t>(pair.first)] +
                                          out_.pieces[static_cast<std::size_t>(pair.second)]);
    out_.merges.push_back(pair);
    auto places = std::move(places_[pair]);
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<BpePair> grown;
    for (const std::size_t w : places) merge_in(w, pair, merged, grown);
    std::ranges::sort(grown);
    grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
    for (const BpePair& p : grown) queue_.push({counts_[p], p});
    counts_[pair] = 0;
  }

  // Replaces the pair in one word and counts the new pairs with its neighbours.
  void merge_in(std::size_t w, const BpePair& pair, std::int32_t merged,
                std::vector<BpePair>& grown) {
    Word& word = words_[w];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < word.pieces.size(); ++i, ++kept) {
      const bool here = i + 1 < word.pieces.size() && word.pieces[i] == pair.first &&
                        word.pieces[i + 1] == pair.second;
      if (!here) {
        word.pieces[kept] = word.pieces[i];
        continue;
      }
      if (kept > 0) {
        counts_[{word.pieces[kept - 1], pair.first}] -= word.count;
        count_pair({word.pieces[kept - 1], merged}, word.count, w);
        grown.emplace_back(word.pieces[kept - 1], merged);
      }
      if (i + 2 < word.pieces.size()) {
        counts_[{pair.second, word.pieces[i + 2]}] -= word.count;
        count_pair({merged, word.pieces[i + 2]}, word.count, w);
        grown.emplace_back(merged, word.pieces[i + 2]);
      }
      word.pieces[kept] = merged;
      ++i;
    }
    word.pieces.resize(kept);
  }

  const BpeTrainerOptions& options_;
  TrainedBpe out_;
  std::vector<std::int32_t> byte_ids_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<BpePair, std::int64_t, BpePairHash> counts_;
  // Words that may contain the pair.
  std::unordered_map<BpePair, std::vector<std::size_t>, BpePairHash> places_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

TrainedBpe train_byte_bpe(const std::map<std::string, std::int64_t>& word_counts,
                          const std::vector<std::string>& first, const BpeTrainerOptions& options) {
  const std::int64_t least = std::ssize(first) + 256;
  if (options.vocab_size < least)
    throw UsageError(str("vocab: ", options.vocab_size, " pieces have no room for ", first.size(),
                         " special tokens and 256 bytes"),
                     str("set the vocabulary's size to at least ", least));
  return BpeTrainer(word_counts, first, options).run();
}

}  // namespace smelt::text
