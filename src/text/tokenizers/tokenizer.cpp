#include "text/tokenizers/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {

std::vector<TokenSpan> in_characters(std::string_view text, std::vector<TokenSpan> spans) {
  // Number of characters that begin before each byte.
  std::vector<std::size_t> before(text.size() + 1, 0);
  for (std::size_t i = 0; i < text.size(); ++i)
    before[i + 1] = before[i] + (continues_character(text[i]) ? 0 : 1);
  for (TokenSpan& span : spans) span = {span.id, before[span.begin], before[span.end]};
  return spans;
}

std::size_t shown_end(std::string_view text, std::span<const TokenSpan> pieces, std::size_t last) {
  const std::size_t end = pieces[last].end;
  const std::size_t next = last + 1 < pieces.size() ? pieces[last + 1].begin : text.size();
  return next <= end ? end : std::min(next, grapheme_end(text, end));
}

std::optional<std::int32_t> find_piece(const Tokenizer& tokenizer, std::string_view piece) {
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.token(id) == piece) return id;
  return std::nullopt;
}

bool Tokenizer::has_character(std::string_view character) const {
  std::vector<std::int32_t> ids;
  encode(character, ids);
  return std::ranges::find(ids, unknown()) == ids.end();
}

void Tokenizer::check_ids(std::span<const std::int32_t> ids, std::string_view origin) const {
  for (const std::int32_t id : ids)
    if (id < 0 || id >= size())
      throw UsageError(str(origin, ": has ", size(), " pieces, but no id ", id),
                       "decode with the vocabulary that the ids were made with");
}

void check_rows(const std::string& vocab, std::int64_t rows, std::string_view where) {
  const std::int64_t pieces = is_sentencepiece_file(vocab) ? load_tokenizer(vocab, {})->size()
                                                           : Vocabulary::load(vocab).rows();
  if (pieces <= rows) return;
  throw UsageError(
      str(where, ": ", vocab, " has ", pieces, " tokens, the model has ", rows,
          " rows of embeddings (vocab_size): ids from ", rows, " on have no embedding"),
      "use the vocabulary that the model was trained with; to train new tokens, pre-train further "
      "(`smelt run` with model.type bert or electra), which adds rows");
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path, const TokenizerFlags& flags) {
  if (is_subword_file(path)) {
    const std::string command = tokenizer_options(path, flags).segment_command;
    auto tokenizer = std::make_unique<SubwordTokenizer>(path);
    if (tokenizer->vocabulary().find("[UNK]"))
      return std::make_unique<BertTokenizer>(std::move(tokenizer), command);
    if (!command.empty())
      throw UsageError(str(path, ": a vocabulary without [UNK] cannot have a segment command"),
                       str("split the text first, and use --segment-command ", kNoSegmentCommand));
    return tokenizer;
  }
  if (!is_sentencepiece_file(path))
    return std::make_unique<BertTokenizer>(BertTokenizer::load(path, flags));
  TokenizerFlags others = flags;
  others.segment_command.reset();
  others.segment_command_name = TokenizerFlags{}.segment_command_name;
  if (others != TokenizerFlags{})
    throw UsageError(
        str(path, ": the normalization of a SentencePiece model cannot be changed by flags"),
        "leave out the flags for case, accents and control characters");
  return std::make_unique<SentencePieceTokenizer>(path, std::nullopt, flags);
}

}  // namespace smelt::text
