#include "text/tokenizers/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"
#include "io/filesystem/lfs_pointer.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/tokenizer_json.h"

namespace smelt::text {
namespace {

// Returns whether every line has a piece, a tab and a number, as in a SentencePiece .vocab.
bool is_sentencepiece_vocab(const std::vector<std::string>& lines) {
  std::size_t seen = 0;
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    const std::size_t tab = line.rfind('\t');
    double score = 0;
    if (tab == std::string::npos) return false;
    const char* end = line.data() + line.size();
    const auto [at, error] = std::from_chars(line.data() + tab + 1, end, score);
    if (error != std::errc() || at != end) return false;
    if (++seen == 100) break;
  }
  return seen > 0;
}

void warn_of_duplicates(const std::vector<std::pair<std::int32_t, std::int32_t>>& found,
                        const std::vector<std::string>& tokens, const std::string& origin) {
  static std::mutex mutex;
  static std::set<std::string> warned;  // a command may read its vocabulary several times
  const std::lock_guard lock(mutex);
  if (found.empty() || !warned.insert(origin).second) return;
  const auto [first, last] = found.front();
  if (!origin.ends_with(".txt"))
    return log_warning(
        "{}: token '{}' has the ids {} and {}{}: the last one is used", origin,
        tokens[static_cast<std::size_t>(last)], first, last,
        found.size() == 1 ? "" : str(" (and ", found.size() - 1, " more such tokens)"));
  log_warning(
      "{}:{}: token '{}' is on line {} too{}: the later line is used, and every line keeps its id",
      origin, last + 1, tokens[static_cast<std::size_t>(last)], first + 1,
      found.size() == 1 ? "" : str(" (and ", found.size() - 1, " more such lines)"));
}

}  // namespace

bool is_special_token(std::string_view token) {
  return std::ranges::find(kSpecialTokens, token) != kSpecialTokens.end();
}

std::vector<std::string> vocabulary_lines(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(python_strip(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

Vocabulary vocabulary_from_bytes(std::string_view bytes, const std::string& origin,
                                 std::span<const AddedToken> added) {
  if (is_subword_json(bytes))
    return SubwordTokenizer(parse_subword_json(bytes, origin), origin).vocabulary();
  return Vocabulary(vocabulary_lines(bytes), origin, kContinuingPrefix, added);
}

Vocabulary Vocabulary::load(const std::string& path) {
  if (is_subword_file(path)) return SubwordTokenizer(path).vocabulary();
  if (is_tokenizer_json(path)) return load_tokenizer_json(path).vocabulary;
  const std::string content = io::read_file(path, io::kSmallFileBytes);
  io::refuse_lfs_pointer(content, path);
  if (content.starts_with('\n') && content.find('\0') != std::string::npos)
    throw UsageError(str(path, ": is a SentencePiece model, not a vocabulary of word pieces"),
                     "give a vocab.txt or tokenizer.json; `smelt vocab train` makes one");
  std::vector<std::string> tokens = vocabulary_lines(content);
  if (std::ranges::all_of(tokens, &std::string::empty))
    throw UsageError(str(path, ": the vocabulary is empty"), "make one with `smelt vocab train`");
  if (is_sentencepiece_vocab(tokens))
    throw UsageError(
        str(path,
            ": is a SentencePiece .vocab (pieces and scores), not a vocabulary of word "
            "pieces"),
        "give the vocab.txt of a BERT or ELECTRA; for T5 use the .model file in the same folder");
  const auto stored = load_tokenizer_config(path);
  return Vocabulary(std::move(tokens), path, kContinuingPrefix,
                    stored ? stored->added : std::vector<AddedToken>());
}

Vocabulary::Vocabulary(std::vector<std::string> tokens, std::string origin,
                       std::string_view continuing_prefix, std::span<const AddedToken> added,
                       const SpecialTokenNames& special) {
  auto data = std::make_shared<Data>();
  data->tokens = std::move(tokens);
  data->is_piece.assign(data->tokens.size(), true);
  for (const AddedToken& one : added) {
    const auto id = static_cast<std::size_t>(one.id);
    if (id >= data->tokens.size()) {
      data->tokens.resize(id + 1);
      data->is_piece.resize(id + 1, false);
    }
    std::string& there = data->tokens[id];
    if (there.empty()) {
      there = one.content;
      data->is_piece[id] = is_special_token(one.content);
    } else if (there != one.content) {
      throw UsageError(str(origin, ": id ", id, " is '", there, "', but also the added token '",
                           one.content, "'"),
                       "use the tokenizer files that the model was saved with");
    }
  }
  data->origin = std::move(origin);
  data->special = &special;
  data->continuing_prefix = continuing_prefix;
  data->ids.reserve(data->tokens.size());
  std::vector<std::pair<std::int32_t, std::int32_t>> duplicates;
  for (std::size_t i = 0; i < data->tokens.size(); ++i) {
    if (data->tokens[i].empty()) continue;
    const auto id = static_cast<std::int32_t>(i);
    const auto [found, is_new] = data->ids.emplace(data->tokens[i], id);
    if (is_new || !data->is_piece[i]) continue;
    duplicates.emplace_back(found->second, id);
    found->second = id;
  }
  warn_of_duplicates(duplicates, data->tokens, data->origin);
  data_ = std::move(data);
}

std::string_view Vocabulary::special_name(std::string_view token) const {
  const auto found = std::ranges::find(kSpecialTokens, token);
  return found == kSpecialTokens.end()
             ? token
             : data_->special->names[static_cast<std::size_t>(found - kSpecialTokens.begin())];
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const {
  const auto found = data_->ids.find(special_name(token));
  if (found == data_->ids.end()) return std::nullopt;
  return found->second;
}

std::int32_t Vocabulary::id(std::string_view token) const {
  if (const auto found = find(token)) return *found;
  throw UsageError(str(origin(), ": has no token ", token),
                   "use a BERT vocabulary: `smelt vocab train` makes one");
}

std::vector<std::string> Vocabulary::pieces() const {
  std::vector<std::string> out = tokens();
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!data_->is_piece[i] || find(out[i]) != static_cast<std::int32_t>(i)) out[i].clear();
  return out;
}

std::int32_t Vocabulary::rows() const {
  std::int32_t rows = size();
  while (rows > 0 && token(rows - 1).empty()) --rows;
  return rows;
}

bool Vocabulary::continues_word(std::int32_t id) const {
  const std::string& prefix = continuing_prefix();
  return !prefix.empty() && token(id).starts_with(prefix);
}

void Vocabulary::check_special_tokens() const {
  for (const std::string_view token : kSpecialTokens)
    if (token != "[PAD]") id(token);  // sequences are padded with id 0, whatever token has it
}

void Vocabulary::check_fits_text(const std::string& path) const {
  if (continuing_prefix() != kContinuingPrefix)
    throw UsageError(str(path, ": a vocab.txt's pieces continue words by '", kContinuingPrefix,
                         "', those of ", origin(), " by '", continuing_prefix(), "'"),
                     "write a tokenizer.json");
}

std::string Vocabulary::text() const {
  std::size_t lines = tokens().size();
  while (lines > 0 && !data_->is_piece[lines - 1]) --lines;
  std::string out;
  for (std::size_t i = 0; i < lines; ++i) {
    // A tokenizer.json may have pieces with line breaks; no word contains them.
    if (data_->is_piece[i] && tokens()[i].find_first_of("\r\n") == std::string::npos)
      out += tokens()[i];
    out += '\n';
  }
  return out;
}

void Vocabulary::save(const std::string& path) const {
  check_fits_text(path);
  io::write_file(path, text());
}

}  // namespace smelt::text
