// A WordPiece vocabulary: vocab.txt has one token per line; its id is the line number, from 0.
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

namespace smelt::text {

constexpr std::string_view kContinuingPrefix = "##";
// The special tokens of BERT and ELECTRA. If they occur in a text, they are treated like any other
// text.
constexpr std::array<std::string_view, 5> kSpecialTokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                         "[MASK]"};
bool is_special_token(std::string_view token);

// A model family's names of the five special tokens, in the order of kSpecialTokens, and the number
// of separator tokens between two texts.
struct SpecialTokenNames {
  std::array<std::string_view, 5> names;
  std::size_t separators;
};
inline constexpr SpecialTokenNames kBertTokens{kSpecialTokens, 1};
inline constexpr SpecialTokenNames kRobertaTokens{{"<pad>", "<unk>", "<s>", "</s>", "<mask>"}, 2};

// Immutable and thread-safe; copies share the tokens.
class Vocabulary {
 public:
  // Reads vocab.txt or tokenizer.json and the added tokens in the accompanying files
  // (text/tokenizers/tokenizer_config.h). Throws UsageError for a SentencePiece model or .vocab,
  // and for a file without tokens.
  static Vocabulary load(const std::string& path);
  // `origin` names the vocabulary in messages. If a token occurs twice, the last one is used and a
  // warning is logged. An empty token is an unused id. `added` tokens may have ids after `tokens`;
  // those not in `tokens` are never pieces of words. Throws UsageError if the id of an added token
  // belongs to another token.
  explicit Vocabulary(std::vector<std::string> tokens, std::string origin = "vocabulary",
                      std::string_view continuing_prefix = kContinuingPrefix,
                      std::span<const AddedToken> added = {},
                      const SpecialTokenNames& special = kBertTokens);

  // Returns this vocabulary's name of one of kSpecialTokens; any other token is returned unchanged.
  std::string_view special_name(std::string_view token) const;
  // Returns the number of [SEP] tokens between the two texts of a pair.
  std::size_t separators() const { return data_->special->separators; }

  std::int32_t size() const { return static_cast<std::int32_t>(data_->tokens.size()); }
  const std::vector<std::string>& tokens() const { return data_->tokens; }
  const std::string& token(std::int32_t id) const { return data_->tokens.at(id); }
  const std::string& origin() const { return data_->origin; }
  // Returns the id of a token. One of kSpecialTokens finds this vocabulary's equivalent: "[CLS]"
  // finds RoBERTa's "<s>".
  std::optional<std::int32_t> find(std::string_view token) const;
  std::int32_t id(std::string_view token) const;  // throws UsageError if it is missing

  // Returns the pieces of words by id; empty if the token is never a piece of a word.
  std::vector<std::string> pieces() const;
  // Returns the number of embedding rows that texts need. Empty tokens at the end need none.
  std::int32_t rows() const;

  // Returns the prefix of pieces that continue a word: "##" for vocab.txt; a tokenizer.json may
  // define another.
  const std::string& continuing_prefix() const { return data_->continuing_prefix; }
  // Returns whether the piece continues the word of the previous piece. Always false if the prefix
  // is empty.
  bool continues_word(std::int32_t id) const;

  // Throws UsageError if [UNK], [CLS], [SEP] or [MASK] is missing.
  void check_special_tokens() const;
  // Throws UsageError if the continuing prefix is not that of a vocab.txt. `path` is the file to be
  // written.
  void check_fits_text(const std::string& path) const;
  // Returns the content of a vocab.txt: one token per line, without the added tokens after the last
  // piece.
  std::string text() const;
  void save(const std::string& path) const;  // writes vocab.txt

 private:
  struct Data {
    std::vector<std::string> tokens;
    std::vector<bool> is_piece;                              // by id
    std::unordered_map<std::string_view, std::int32_t> ids;  // views into tokens
    std::string origin, continuing_prefix;
    const SpecialTokenNames* special = &kBertTokens;  // static storage
  };
  std::shared_ptr<const Data> data_;
};

// Returns the tokens of a vocab.txt's content, stripped as by Python's str.strip(), without a byte
// order mark. Every line is an id, whatever it contains.
std::vector<std::string> vocabulary_lines(std::string_view text);

// Returns the vocabulary of an encoder from its vocabulary_bytes()
// (text/tokenizers/unigram_json.h). These are the content of a vocab.txt, whose added tokens are
// `added`, or a tokenizer.json, which contains its added tokens itself.
Vocabulary vocabulary_from_bytes(std::string_view bytes, const std::string& origin,
                                 std::span<const AddedToken> added = {});

}  // namespace smelt::text
