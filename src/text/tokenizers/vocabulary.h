// A WordPiece vocabulary: vocab.txt, one token a line, the id is the line's number from 0.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

constexpr std::string_view kContinuingPrefix = "##";
// The special tokens of BERT and ELECTRA. In a text they are text.
constexpr std::array<std::string_view, 5> kSpecialTokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                         "[MASK]"};
bool is_special_token(std::string_view token);

// What a family of models calls the five special tokens, in the order of kSpecialTokens, and how
// many tokens stand between two texts.
struct SpecialTokenNames {
  std::array<std::string_view, 5> names;
  std::size_t separators;
};
inline constexpr SpecialTokenNames kBertTokens{kSpecialTokens, 1};
inline constexpr SpecialTokenNames kRobertaTokens{{"<pad>", "<unk>", "<s>", "</s>", "<mask>"}, 2};

// Immutable; copies share the tokens. Safe to use from several threads.
class Vocabulary {
 public:
  // Reads vocab.txt or tokenizer.json, and the added tokens in the files beside it
  // (text/tokenizers/tokenizer_config.h). UsageError for a SentencePiece model or .vocab, and for a
  // file without tokens.
  static Vocabulary load(const std::string& path);
  // `origin` names the vocabulary in messages. Of equal tokens the last one counts, which is
  // logged as a warning; an empty token is an id that no text gives. `added` tokens may have ids
  // behind `tokens`; those that are not in `tokens` are never pieces of words. UsageError for an
  // added token whose id belongs to another token.
  explicit Vocabulary(std::vector<std::string> tokens, std::string origin = "vocabulary",
                      std::string_view continuing_prefix = kContinuingPrefix,
                      std::span<const AddedToken> added = {},
                      const SpecialTokenNames& special = kBertTokens);

  // Returns this vocabulary's name of one of kSpecialTokens, or any other token as it is.
  std::string_view special_name(std::string_view token) const;
  // Returns how many [SEP] stand between the two texts of a pair.
  std::size_t separators() const { return data_->special->separators; }

  std::int32_t size() const { return static_cast<std::int32_t>(data_->tokens.size()); }
  const std::vector<std::string>& tokens() const { return data_->tokens; }
  const std::string& token(std::int32_t id) const { return data_->tokens.at(id); }
  const std::string& origin() const { return data_->origin; }
  // One of kSpecialTokens finds this vocabulary's own, "[CLS]" RoBERTa's "<s>".
  std::optional<std::int32_t> find(std::string_view token) const;
  std::int32_t id(std::string_view token) const;  // UsageError when it is not there

  // By id, what words are split into: empty where the token is never a piece of a word.
  std::vector<std::string> pieces() const;
  // The number of embedding rows that texts need: empty tokens at the end need none.
  std::int32_t rows() const;

  // What pieces begin with that continue a word; vocab.txt knows no other than "##", tokenizer.json
  // may name another.
  const std::string& continuing_prefix() const { return data_->continuing_prefix; }
  // Whether the piece goes on with the word of the piece before it; with an empty prefix nothing
  // tells, and none does.
  bool continues_word(std::int32_t id) const;

  // UsageError unless [UNK], [CLS], [SEP] and [MASK] are there.
  void check_special_tokens() const;
  // UsageError for another continuing prefix than that of vocab.txt, which `path` is to be.
  void check_fits_text(const std::string& path) const;
  // The content of a vocab.txt: one token a line, without the added tokens behind the last piece.
  std::string text() const;
  void save(const std::string& path) const;  // as vocab.txt

 private:
  struct Data {
    std::vector<std::string> tokens;
    std::vector<bool> is_piece;                              // by id
    std::unordered_map<std::string_view, std::int32_t> ids;  // views into tokens
    std::string origin, continuing_prefix;
    const SpecialTokenNames* special = &kBertTokens;  // of static storage
  };
  std::shared_ptr<const Data> data_;
};

// The tokens of a vocab.txt's content, stripped as Python's str.strip() does; a byte order mark is
// no part of the first one. Each line is an id, whatever it contains.
std::vector<std::string> vocabulary_lines(std::string_view text);

// Returns the vocabulary of what vocabulary_bytes() (text/tokenizers/unigram_json.h) gives for an
// encoder: lines of a vocab.txt, to which `added` belongs, or a tokenizer.json.
Vocabulary vocabulary_from_bytes(std::string_view bytes, const std::string& origin,
                                 std::span<const AddedToken> added = {});

}  // namespace smelt
