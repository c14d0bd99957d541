// A WordPiece vocabulary: vocab.txt, one token a line, the id is the line's number from 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace smelt {

constexpr std::string_view kContinuingPrefix = "##";

// Immutable; copies share the tokens. Safe to use from several threads.
class Vocabulary {
 public:
  // vocab.txt or tokenizer.json (tokenize/tokenizer_json.h). Lines are stripped as Python's
  // str.strip() does. UsageError naming file and line for an empty line or a token that stands
  // twice; UsageError when the file has no token.
  static Vocabulary load(const std::string& path);
  // `origin` names the vocabulary in messages.
  explicit Vocabulary(std::vector<std::string> tokens, std::string origin = "vocabulary",
                      std::string_view continuing_prefix = kContinuingPrefix);

  std::int32_t size() const { return static_cast<std::int32_t>(data_->tokens.size()); }
  const std::vector<std::string>& tokens() const { return data_->tokens; }
  const std::string& token(std::int32_t id) const { return data_->tokens.at(id); }
  const std::string& origin() const { return data_->origin; }
  std::optional<std::int32_t> find(std::string_view token) const;
  std::int32_t id(std::string_view token) const;  // UsageError when it is not there

  // What pieces begin with that continue a word; vocab.txt knows no other than "##", tokenizer.json
  // may name another.
  const std::string& continuing_prefix() const { return data_->continuing_prefix; }
  // Whether the piece goes on with the word of the piece before it; with an empty prefix nothing
  // tells, and none does.
  bool continues_word(std::int32_t id) const;

  // UsageError unless [PAD], [UNK], [CLS], [SEP] and [MASK] are there.
  void check_special_tokens() const;
  // UsageError for another continuing prefix than that of vocab.txt, which `path` is to be.
  void check_fits_text(const std::string& path) const;
  void save(const std::string& path) const;  // as vocab.txt

 private:
  struct Data {
    std::vector<std::string> tokens;
    std::unordered_map<std::string_view, std::int32_t> ids;  // views into tokens
    std::string origin, continuing_prefix;
  };
  std::shared_ptr<const Data> data_;
};

}  // namespace smelt
