#include "text/wordpiece.h"

#include <algorithm>

#include "text/word_scanner.h"

namespace smelt {
namespace {

constexpr std::string_view kContinuation = "##";

bool continues_character(char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

// Cuts a word while it is read.
struct BertTokenizer::IdSink {
  const WordPieceTrie& trie;
  std::vector<std::int32_t>& ids;
  const std::size_t limit;
  const std::int32_t unknown;
  WordPieceTrie::Node node = WordPieceTrie::kBegin;
  std::size_t characters = 0;
  std::size_t word_begin = ids.size();

  IdSink(const BertTokenizer& tokenizer, std::vector<std::int32_t>& to)
      : trie(tokenizer.trie_), ids(to), limit(tokenizer.options_.max_characters_per_word), unknown(tokenizer.unknown_) {}

  void from(std::size_t, std::size_t) {}
  void append(std::uint8_t byte) {
    node = trie.step(node, byte, ids);
    ++characters;
  }
  void append(std::string_view bytes, std::size_t count) {
    for (const char byte : bytes) node = trie.step(node, static_cast<std::uint8_t>(byte), ids);
    characters += count;
  }
  void end_word() {
    if (node == WordPieceTrie::kBegin) return;
    if (characters > limit || !trie.finish(node, ids)) {
      ids.resize(word_begin);
      ids.push_back(unknown);
    }
    node = WordPieceTrie::kBegin;
    characters = 0;
    word_begin = ids.size();
  }
};

BertTokenizer::BertTokenizer(Vocabulary vocabulary, const TokenizerOptions& options)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      table_(&CharacterTable::of(options)),
      trie_(vocabulary_.tokens(), kContinuation),
      unknown_(vocabulary_.id("[UNK]")) {}

void BertTokenizer::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  IdSink sink(*this, ids);
  sink.append(word, word.size() - std::ranges::count_if(word, continues_character));
  sink.end_word();
}

void BertTokenizer::encode(std::string_view utf8, std::vector<std::int32_t>& ids) const {
  IdSink sink(*this, ids);
  scan_words(*table_, utf8, sink);
}

std::vector<std::int32_t> BertTokenizer::encode(std::string_view utf8) const {
  std::vector<std::int32_t> ids;
  encode(utf8, ids);
  return ids;
}

std::vector<std::string> BertTokenizer::tokenize(std::string_view utf8) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : encode(utf8)) tokens.push_back(vocabulary_.token(id));
  return tokens;
}

}  // namespace smelt
