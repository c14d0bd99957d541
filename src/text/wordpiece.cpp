#include "text/wordpiece.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr std::string_view kContinuation = "##";

bool continues_character(char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

BertTokenizer::BertTokenizer(Vocabulary vocabulary, BertTokenizerOptions options)
    : vocabulary_(std::move(vocabulary)),
      basic_(options.lower_case),
      unknown_(vocabulary_.id("[UNK]")) {
  for (std::int32_t id = 0; id < vocabulary_.size(); ++id) {
    std::string_view piece = vocabulary_.token(id);
    first_.emplace(piece, id);
    longest_ = std::max(longest_, piece.size());
    if (piece.starts_with(kContinuation)) continuation_.emplace(piece.substr(2), id);
  }
}

void BertTokenizer::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::size_t before = ids.size();
  const auto fail = [&] {
    ids.resize(before);
    ids.push_back(unknown_);
  };
  const auto inside = std::ranges::count_if(word, continues_character);
  if (word.size() - inside > kMaxCharactersPerWord) return fail();
  for (std::size_t start = 0; start < word.size();) {
    const Pieces& pieces = start == 0 ? first_ : continuation_;
    std::size_t end = std::min(word.size(), start + longest_);
    Pieces::const_iterator found = pieces.end();
    for (; end > start; --end) {
      if (end < word.size() && continues_character(word[end])) continue;
      found = pieces.find(word.substr(start, end - start));
      if (found != pieces.end()) break;
    }
    if (found == pieces.end()) return fail();
    ids.push_back(found->second);
    start = end;
  }
}

std::vector<std::int32_t> BertTokenizer::encode(std::string_view utf8) const {
  std::vector<std::string> words;
  basic_.tokenize(utf8, words);
  std::vector<std::int32_t> ids;
  for (const std::string& word : words) encode_word(word, ids);
  return ids;
}

std::vector<std::string> BertTokenizer::tokenize(std::string_view utf8) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : encode(utf8)) tokens.push_back(vocabulary_.token(id));
  return tokens;
}

}  // namespace smelt
