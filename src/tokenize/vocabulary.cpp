#include "tokenize/vocabulary.h"

#include "base/error.h"
#include "store/file.h"
#include "text/unicode.h"
#include "tokenize/tokenizer_json.h"

namespace smelt {

Vocabulary Vocabulary::load(const std::string& path) {
  const std::string content = read_file(path, kSmallFileBytes);
  if (is_tokenizer_json(path)) return parse_tokenizer_json(content, path).vocabulary;
  if (content.starts_with('\n') && content.find('\0') != std::string::npos)
    throw UsageError(str(path, ": is a SentencePiece model, not a vocabulary of word pieces"),
                     "give a vocab.txt or tokenizer.json; `smelt vocab train` makes one");
  std::vector<std::string> tokens;
  std::string_view rest = content;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    tokens.emplace_back(python_strip(rest.substr(0, end)));
    if (tokens.back().empty())
      throw UsageError(str(path, ":", tokens.size(), ": empty line in a vocabulary"),
                       "one token a line; remove empty lines");
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (tokens.empty())
    throw UsageError(str(path, ": the vocabulary is empty"), "make one with `smelt vocab train`");
  return Vocabulary(std::move(tokens), path);
}

Vocabulary::Vocabulary(std::vector<std::string> tokens, std::string origin,
                       std::string_view continuing_prefix) {
  auto data = std::make_shared<Data>();
  data->tokens = std::move(tokens);
  data->origin = std::move(origin);
  data->continuing_prefix = continuing_prefix;
  data->ids.reserve(data->tokens.size());
  for (std::size_t i = 0; i < data->tokens.size(); ++i) {
    const auto [found, added] = data->ids.emplace(data->tokens[i], static_cast<std::int32_t>(i));
    if (!added)
      throw UsageError(str(data->origin, ":", i + 1, ": token '", data->tokens[i],
                           "' stands on line ", found->second + 1, " already"),
                       "remove one of the two lines");
  }
  data_ = std::move(data);
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const {
  const auto found = data_->ids.find(token);
  if (found == data_->ids.end()) return std::nullopt;
  return found->second;
}

std::int32_t Vocabulary::id(std::string_view token) const {
  if (const auto found = find(token)) return *found;
  throw UsageError(str(origin(), ": has no token ", token),
                   "use a BERT vocabulary: `smelt vocab train` makes one");
}

bool Vocabulary::continues_word(std::int32_t id) const {
  const std::string& prefix = continuing_prefix();
  return !prefix.empty() && token(id).starts_with(prefix);
}

void Vocabulary::check_special_tokens() const {
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) id(token);
}

void Vocabulary::check_fits_text(const std::string& path) const {
  if (continuing_prefix() != kContinuingPrefix)
    throw UsageError(str(path, ": a vocab.txt's pieces continue words by '", kContinuingPrefix,
                         "', those of ", origin(), " by '", continuing_prefix(), "'"),
                     "write a tokenizer.json");
}

void Vocabulary::save(const std::string& path) const {
  check_fits_text(path);
  write_file(path, join(tokens(), "\n") + "\n");
}

}  // namespace smelt
