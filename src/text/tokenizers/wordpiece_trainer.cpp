#include "text/tokenizers/wordpiece_trainer.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/progress.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/character_table.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using PieceId = std::int32_t;
using Pair = std::pair<PieceId, PieceId>;

struct PairHash {
  std::size_t operator()(const Pair& p) const {
    return std::hash<std::uint64_t>()(static_cast<std::uint64_t>(p.first) << 32 |
                                      static_cast<std::uint32_t>(p.second));
  }
};

struct Word {
  std::vector<PieceId> pieces;
  std::int64_t count = 0;
};

std::string utf8(char32_t c) {
  std::string text;
  append_utf8(c, text);
  return text;
}

using SpelledWords = std::vector<std::pair<std::u32string, std::int64_t>>;

// Returns the characters of each word. Skips overlong words: a hex dump may be a word of millions
// of characters, and every merge visits all words that contain the pair.
SpelledWords spell_words(const std::map<std::string, std::int64_t>& words) {
  SpelledWords spelled;
  for (const auto& [word, count] : words) {
    std::u32string characters = to_code_points(word);
    if (characters.size() <= kMaxCharactersPerWord)
      spelled.emplace_back(std::move(characters), count);
  }
  return spelled;
}

// The characters of the words by frequency, and the number of pieces that the most frequent ones
// take up in a vocabulary.
class Characters {
 public:
  explicit Characters(const SpelledWords& words) {
    std::map<char32_t, std::int64_t> counts;
    for (const auto& [characters, count] : words)
      for (const char32_t c : characters) counts[c] += count;
    order_.assign(counts.begin(), counts.end());
    // Orders equally frequent characters by code point.
    std::ranges::stable_sort(order_, [](auto& a, auto& b) { return a.second > b.second; });
    list_forms(words);
  }

  std::int64_t size() const { return std::ssize(order_); }
  std::set<char32_t> most_frequent(std::int64_t count) const {
    std::set<char32_t> out;
    for (std::int64_t i = 0; i < count; ++i) out.insert(order_[static_cast<std::size_t>(i)].first);
    return out;
  }
  // Returns how many characters can be kept if the vocabulary has room for `more` pieces beyond
  // those of the `kept` characters. A character needs one piece if it occurs at the beginning of a
  // word and another one if it occurs within words.
  std::int64_t kept_with(std::int64_t kept, std::int64_t more) const {
    const auto forms = std::ranges::upper_bound(needs_, kept) - needs_.begin() + more;
    if (forms >= std::ssize(needs_)) return size();
    const auto last = std::ranges::lower_bound(needs_, needs_[static_cast<std::size_t>(forms)]);
    return last == needs_.begin() ? kept : *std::prev(last);
  }
  char32_t at(std::int64_t rank) const { return order_[static_cast<std::size_t>(rank)].first; }
  // Returns how many characters make up at least this share of the text each.
  std::int64_t above(double part) const {
    const double least = part * static_cast<double>(total());
    return std::ranges::count_if(order_,
                                 [&](auto& c) { return static_cast<double>(c.second) >= least; });
  }
  // Returns how many of the most frequent characters make up this share of the text together.
  std::int64_t covering(double part) const {
    const double enough = part * static_cast<double>(total());
    std::int64_t found = 0, count = 0;
    while (found < size() && static_cast<double>(count) < enough)
      count += order_[static_cast<std::size_t>(found++)].second;
    return found;
  }
  // Returns the share of the text's characters outside the `kept` most frequent ones.
  double share_beyond(std::int64_t kept) const {
    double all = 0, beyond = 0;
    for (std::int64_t i = 0; i < size(); ++i) {
      const auto count = static_cast<double>(order_[static_cast<std::size_t>(i)].second);
      all += count;
      beyond += i < kept ? 0 : count;
    }
    return all == 0 ? 0 : beyond / all;
  }

 private:
  std::int64_t total() const {
    std::int64_t out = 0;
    for (const auto& [c, count] : order_) out += count;
    return out;
  }
  void list_forms(const SpelledWords& words) {
    std::unordered_map<char32_t, std::int64_t> ranks;
    for (const auto& [c, count] : order_) ranks.emplace(c, std::ssize(ranks));
    constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> first(order_.size(), kNever), later(order_.size(), kNever);
    for (const auto& [characters, count] : words) {
      std::int64_t needed = 0;
      for (const char32_t c : characters) needed = std::max(needed, ranks.at(c) + 1);
      for (std::size_t i = 0; i < characters.size(); ++i) {
        auto& form = (i == 0 ? first : later)[static_cast<std::size_t>(ranks.at(characters[i]))];
        form = std::min(form, needed);
      }
    }
    for (const auto* forms : {&first, &later})
      for (const std::int64_t needed : *forms)
        if (needed != kNever) needs_.push_back(needed);
    std::ranges::sort(needs_);
  }

  std::vector<std::pair<char32_t, std::int64_t>> order_;
  // One number per single-character piece ("x" or "##x"), ascending: how many of the most frequent
  // characters must be kept so that some word that contains the piece has only kept characters.
  std::vector<std::int64_t> needs_;
};

// Returns the number of characters of the first alphabet. It may grow later
// (WordPieceTrainerOptions::coverage).
std::int64_t first_alphabet(const Characters& all, const WordPieceTrainerOptions& options) {
  constexpr double kLeastShare = 1e-6;
  const std::int64_t third = all.kept_with(0, options.vocab_size / 3),
                     two_thirds = all.kept_with(0, options.vocab_size * 2 / 3);
  std::int64_t kept = all.above(kLeastShare);
  if (kept > third)
    kept = std::clamp(std::min(all.covering(options.coverage), two_thirds), third, kept);
  return std::max(kept, std::min<std::int64_t>(all.size(), 1));
}

// Adds the missing pieces "x" and "##x" of the kept characters while there is room, most frequent
// characters first. Punctuation and Chinese characters never continue a word and get no "##x".
void add_other_forms(const Characters& all, std::int64_t kept,
                     const WordPieceTrainerOptions& options, std::vector<std::string>& pieces) {
  const CharacterTable& table = CharacterTable::of(options.tokenizer);
  std::set<std::string> known(pieces.begin(), pieces.end());
  for (std::int64_t rank = 0; rank < kept; ++rank)
    for (const char* prefix : {"", "##"}) {
      const bool continues = *prefix != '\0';
      if (continues && table[all.at(rank)].action == CharacterTable::alone) continue;
      std::string form = prefix + utf8(all.at(rank));
      if (std::ssize(pieces) >= options.vocab_size) return;
      if (known.insert(form).second) pieces.push_back(std::move(form));
    }
}

constexpr double kToldShare = 0.001;

void report_alphabet(const Characters& all, std::int64_t kept) {
  if (const double share = all.share_beyond(kept); share > kToldShare)
    log_warning(
        "vocab: the alphabet has {} of the text's {} different characters; words with the others, "
        "{} of all characters, will be [UNK]\n"
        "  hint: raise the vocabulary's size (--size, vocab.size) or the alphabet's limit "
        "(--alphabet, vocab.alphabet), if there is one",
        kept, all.size(), percent(share));
}

void check_at_least_one(std::string_view option, std::int64_t value) {
  if (value < 1)
    throw UsageError(str("vocab: the ", option, " is ", value, ", must be at least 1"),
                     "leave it out for the default");
}

class Trainer {
 public:
  Trainer(const SpelledWords& words, const std::set<char32_t>& alphabet,
          const WordPieceTrainerOptions& options)
      : options_(options) {
    add_words(words, alphabet);
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::size_t i = 0; i + 1 < words_[w].pieces.size(); ++i)
        count_pair({words_[w].pieces[i], words_[w].pieces[i + 1]}, words_[w].count, w);
    for (const auto& [pair, count] : counts_) push(pair, count);
  }

  // Returns at most vocab_size pieces.
  std::vector<std::string> run() {
    Progress progress("merging", options_.vocab_size, "pieces", std::ssize(pieces_));
    while (std::ssize(pieces_) < options_.vocab_size && !queue_.empty()) {
      progress.update(std::ssize(pieces_));
      const Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t now = counts_[best.pair];
      if (now < options_.min_frequency) continue;
      if (now == best.count)
        merge(best.pair);
      else
        push(best.pair, now);  // its count has changed since it was queued
    }
    return std::move(pieces_);
  }

 private:
  struct Candidate {
    std::int64_t count;
    Pair pair;
    std::string text;  // both pieces, to order equally frequent pairs
  };
  struct Worse {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.count != b.count ? a.count < b.count : a.text > b.text;
    }
  };

  void add_words(const SpelledWords& words, const std::set<char32_t>& kept) {
    std::set<char32_t> first, later;  // characters at the beginning of words and within them
    std::vector<const SpelledWords::value_type*> known;
    for (const auto& word : words) {
      const std::u32string& characters = word.first;
      if (!std::ranges::all_of(characters, [&](char32_t c) { return kept.contains(c); })) continue;
      known.push_back(&word);
      for (std::size_t i = 0; i < characters.size(); ++i)
        (i == 0 ? first : later).insert(characters[i]);
    }
    std::set<std::string> forms;
    for (const char32_t c : first) forms.insert(utf8(c));
    for (const char32_t c : later) forms.insert("##" + utf8(c));
    pieces_ = first_tokens(options_.reserved);
    if (std::ssize(pieces_) + std::ssize(forms) > options_.vocab_size)
      throw UsageError(str("vocab: ", options_.vocab_size, " pieces have no room for ",
                           pieces_.size(), " special tokens and an alphabet of ", forms.size()),
                       "raise the vocabulary's size or lower the alphabet's");
    // A reserved token that is also a piece of the text shares its id.
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      ids_.emplace(pieces_[id], static_cast<PieceId>(id));
    for (const std::string& form : forms) add_piece(form);
    std::map<char32_t, PieceId> id_of_first, id_of_later;
    for (const char32_t c : first) id_of_first[c] = ids_.at(utf8(c));
    for (const char32_t c : later) id_of_later[c] = ids_.at("##" + utf8(c));
    words_.reserve(known.size());
    for (const auto* spelled : known) {
      const std::u32string& characters = spelled->first;
      Word& word = words_.emplace_back(Word{.pieces = {}, .count = spelled->second});
      word.pieces.reserve(characters.size());
      for (std::size_t i = 0; i < characters.size(); ++i)
        word.pieces.push_back((i == 0 ? id_of_first : id_of_later).at(characters[i]));
    }
  }

  // Returns the existing piece if another merge gave the same text.
  PieceId add_piece(const std::string& text) {
    const auto [found, added] = ids_.emplace(text, static_cast<PieceId>(pieces_.size()));
    if (added) pieces_.push_back(text);
    return found->second;
  }

  void push(const Pair& pair, std::int64_t count) {
    queue_.push({count, pair, str(pieces_[pair.first], " ", pieces_[pair.second])});
  }

  void count_pair(const Pair& pair, std::int64_t by, std::size_t word) {
    counts_[pair] += by;
    if (by > 0) places_[pair].push_back(word);
  }

  void merge(const Pair& pair) {
    const PieceId merged = add_piece(pieces_[pair.first] + pieces_[pair.second].substr(2));
    auto places = std::move(places_[pair]);
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<Pair> grown;
    for (const std::size_t w : places) merge_in(w, pair, merged, grown);
    std::ranges::sort(grown);
    grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
    for (const Pair& p : grown) push(p, counts_[p]);
    counts_[pair] = 0;
  }

  // Replaces the pair in one word and counts the new pairs with its neighbours.
  void merge_in(std::size_t w, const Pair& pair, PieceId merged, std::vector<Pair>& grown) {
    Word& word = words_[w];
    std::vector<PieceId> next;
    for (std::size_t i = 0; i < word.pieces.size(); ++i) {
      const bool here = i + 1 < word.pieces.size() && word.pieces[i] == pair.first &&
                        word.pieces[i + 1] == pair.second;
      next.push_back(here ? merged : word.pieces[i]);
      if (here) ++i;
    }
    for (std::size_t i = 0; i + 1 < word.pieces.size(); ++i)
      counts_[{word.pieces[i], word.pieces[i + 1]}] -= word.count;
    for (std::size_t i = 0; i + 1 < next.size(); ++i) {
      const Pair p{next[i], next[i + 1]};
      counts_[p] += word.count;
      if (p.first != merged && p.second != merged) continue;
      places_[p].push_back(w);
      grown.push_back(p);
    }
    word.pieces = std::move(next);
  }

  const WordPieceTrainerOptions& options_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, PieceId> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, std::int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<std::size_t>, PairHash>
      places_;  // words that may contain the pair
  std::priority_queue<Candidate, std::vector<Candidate>, Worse> queue_;
};

}  // namespace

std::vector<std::string> first_tokens(const std::vector<std::string>& reserved) {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (const std::string& token : reserved) {
    if (std::ranges::find(tokens, token) != tokens.end())
      throw UsageError(str("vocab: the token '", token, "' is reserved twice"),
                       "the five special tokens are always there");
    tokens.push_back(token);
  }
  return tokens;
}

void fill_with_unused(std::vector<std::string>& tokens, std::int64_t size) {
  const std::set<std::string> known(tokens.begin(), tokens.end());
  for (std::int64_t i = 0; std::ssize(tokens) < size; ++i)
    if (const std::string token = str("[unused", i, "]"); !known.contains(token))
      tokens.push_back(token);
}

std::vector<std::string> train_wordpiece(const std::map<std::string, std::int64_t>& word_counts,
                                         const WordPieceTrainerOptions& options) {
  if (options.vocab_size > kMaxVocabularySize)
    throw UsageError(
        str("vocab: the size is ", options.vocab_size, ", more than ", kMaxVocabularySize),
        "30522 is usual");
  check_at_least_one("minimum frequency", options.min_frequency);
  if (options.alphabet_limit != 0) check_at_least_one("alphabet's limit", options.alphabet_limit);
  if (!(options.coverage > 0 && options.coverage <= 1))
    throw UsageError(
        str("vocab: --coverage ", options.coverage, ": must be greater than 0 and at most 1"),
        "leave it out for the default");
  const SpelledWords words = spell_words(word_counts);
  const Characters characters(words);
  const std::int64_t most = options.alphabet_limit > 0
                                ? std::min(options.alphabet_limit, characters.size())
                                : characters.size();
  std::int64_t kept = std::min(first_alphabet(characters, options), most);
  std::vector<std::string> pieces;
  for (;;) {
    pieces = Trainer(words, characters.most_frequent(kept), options).run();
    const std::int64_t free = options.vocab_size - std::ssize(pieces);
    const std::int64_t more = free > 0 ? std::min(characters.kept_with(kept, free), most) : kept;
    if (more <= kept) break;
    kept = more;
  }
  report_alphabet(characters, kept);
  add_other_forms(characters, kept, options, pieces);
  fill_with_unused(pieces, options.vocab_size);
  return pieces;
}

}  // namespace smelt::text
