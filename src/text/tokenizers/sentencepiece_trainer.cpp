#include "text/tokenizers/sentencepiece_trainer.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <sys/mman.h>
#include <unicode/caniter.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/number_format.h"
#include "io/formats/wire.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

// Number of parts that the work is split into. Their sums are added in order, so that the model
// does not depend on the machine.
constexpr int kParts = 8;
constexpr int kSilent = 3;  // log level

// Maximum bytes of a text passed to the library. Longer texts are split. The library would silently
// drop them, and it needs hours for very long repetitive texts.
constexpr std::size_t kMostTextBytes = 1 << 12;
// The library drops texts that contain this character, which it prints for unknown pieces.
constexpr std::string_view kUnknownSign = "\xE2\x96\x85";

// Returns the length of the first part of a text longer than kMostTextBytes: up to a space if it
// has one, otherwise up to a character boundary.
std::size_t first_part(std::string_view text) {
  const std::size_t space = text.substr(0, kMostTextBytes).find_last_of(" \t");
  if (space != std::string_view::npos && space > 0) return space;
  std::size_t end = kMostTextBytes;
  while (end > 0 && continues_character(text[end])) --end;
  return end > 0 ? end : kMostTextBytes;
}

class Texts : public sentencepiece::SentenceIterator {
 public:
  explicit Texts(const NextText& next) : next_(next) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    do {
      if (rest_.empty() && !take_next()) {
        done_ = true;
        return;
      }
      const std::size_t size = rest_.size() > kMostTextBytes ? first_part(rest_) : rest_.size();
      text_ = rest_.substr(0, size);
      rest_.remove_prefix(size);
    } while (smelt::trim(text_).empty());
  }
  const std::string& value() const override { return text_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  bool take_next() {
    if (!next_(whole_)) return false;
    for (std::size_t at = 0; (at = whole_.find(kUnknownSign, at)) != std::string::npos;)
      whole_.replace(at, kUnknownSign.size(), " ");
    rest_ = whole_;
    return true;
  }

  const NextText& next_;
  std::string whole_, text_;
  std::string_view rest_;  // unread part of whole_
  bool done_ = false;
};

// Returns all special pieces by id.
std::vector<std::string> special_pieces(const SentencePieceOptions& o) {
  if (o.kind == SentencePieceOptions::Kind::for_wordpiece) return {"<unk>"};
  std::vector<std::string> pieces{"<pad>", "</s>", "<unk>"};
  if (std::ranges::find(o.special, "<unk>") != o.special.end()) pieces.clear();
  for (const std::string& piece : pieces)
    if (std::ranges::find(o.special, piece) != o.special.end())
      throw UsageError(str("vocab: --special: '", piece, "' is already a special piece"),
                       "leave it out, or include <unk> to list all special pieces yourself");
  pieces.insert(pieces.end(), o.special.begin(), o.special.end());
  for (const std::string& piece : pieces)
    if (piece.empty() || std::ranges::count(pieces, piece) > 1)
      throw UsageError(
          str("vocab: --special names '", piece, "' ", piece.empty() ? "without a name" : "twice"),
          "name each piece once");
  return pieces;
}

// An in-memory file, because the library reads only files.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("smelt", MFD_CLOEXEC)) {
    if (fd_ < 0) throw_errno("make", "a file in memory", errno);
    for (; !bytes.empty();) {
      const auto written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0) throw_errno("write", "a file in memory", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return str("/proc/self/fd/", fd_); }

 private:
  int fd_;
};

// Returns a line of the library's rule TSV: code points in hexadecimal, a tab, their replacement.
std::string rule_line(const icu::UnicodeString& from, const icu::UnicodeString& to) {
  std::string line;
  const auto append = [&](const icu::UnicodeString& text) {
    for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1))
      line += str(i == 0 ? "" : " ", hex(static_cast<std::uint32_t>(text.char32At(i))));
  };
  append(from);
  line += '\t';
  append(to);
  line += '\n';
  return line;
}

// Replacements by text.
using Rules = std::map<icu::UnicodeString, icu::UnicodeString>;

// Adds a rule for every other canonically equivalent spelling of the character, such as U+00EA
// U+0301 for U+1EBF. The library applies the longest matching rule.
void add_spellings(UChar32 character, const icu::Normalizer2& nfc, Rules& rules) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString composed = nfc.normalize(character, status);
  icu::UnicodeString parts;
  if (character >= 0xAC00 && character <= 0xD7A3) {
    // The iterator below would take a second or two for all Hangul syllables.
    nfc.getDecomposition(character, parts);
    rules.emplace(parts, composed);
    nfc.getRawDecomposition(character, parts);
    rules.emplace(parts, composed);
    return;
  }
  icu::CanonicalIterator spellings(character, status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  for (icu::UnicodeString one = spellings.next(); !one.isBogus(); one = spellings.next())
    if (one != composed) rules.emplace(one, composed);
}

// Returns rules for NFC, for which the library has no name. White space and the zero width space
// become a space, as in the library's other rules.
std::string nfc_rules() {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  Rules rules{{u"\t", u" "}};
  icu::UnicodeString parts;
  for (UChar32 c = 0x80; c <= 0x2FFFF; ++c)
    if (c == 0x200B || c == 0xFEFF || u_isUWhiteSpace(c))
      rules[c] = u" ";
    else if (nfc->getDecomposition(c, parts))
      add_spellings(c, *nfc, rules);
  std::string out;
  for (const auto& [from, to] : rules) out += rule_line(from, to);
  return out;
}

// Removes the path of the rules file from the model, because it differs between runs.
std::string without_rules_path(std::string model) {
  // Protobuf merges an appended message: ModelProto.normalizer_spec is field 3; its
  // normalization_rule_tsv is 6.
  io::WireWriter normalizer, more;
  normalizer.bytes(6, "");
  more.message(3, normalizer);
  model += more.take();
  sentencepiece::SentencePieceProcessor processor;
  const auto status = processor.LoadFromSerializedProto(model);
  CHECK(status.ok(), status.message());
  return processor.serialized_model_proto();
}

std::unordered_map<std::string, std::string> arguments(const SentencePieceOptions& o) {
  const bool own = o.kind == SentencePieceOptions::Kind::own_model;
  std::unordered_map<std::string, std::string> out{
      {"model_type", o.type},
      {"vocab_size", str(o.size)},
      {"character_coverage", str(o.coverage)},
      {"normalization_rule_name",
       own ? std::string(word_of(o.rule, kSentencePieceRules)) : "identity"},
      {"byte_fallback", own && o.byte_fallback ? "true" : "false"},
      {"hard_vocab_limit", "false"},
      {"num_threads", str(kParts)},
      {"max_sentence_length", str(kMostTextBytes)},
      {"minloglevel", str(kSilent)}};
  std::vector<std::string> rest = special_pieces(o);
  const std::vector<std::string> all = rest;
  for (const auto& [piece, argument] :
       {std::pair{"<pad>", "pad_id"}, {"<unk>", "unk_id"}, {"<s>", "bos_id"}, {"</s>", "eos_id"}}) {
    const auto found = std::ranges::find(all, piece);
    out[argument] = found == all.end() ? "-1" : str(found - all.begin());
    std::erase(rest, piece);
  }
  if (!rest.empty()) out["control_symbols"] = join(rest, ",");
  return out;
}

}  // namespace

std::string train_sentencepiece(const NextText& next, const SentencePieceOptions& options) {
  if (!(options.coverage > 0 && options.coverage <= 1))
    throw UsageError(
        str("vocab: --coverage ", options.coverage, ": must be greater than 0 and at most 1"),
        "use 0.9995, the default");
  Texts texts(next);
  if (texts.done()) throw UsageError("vocab: the text has no words", "give files with text");
  std::string model;
  auto all = arguments(options);
  std::optional<MemoryFile> rules;
  if (options.rule == SentencePieceOptions::Rule::nfc &&
      options.kind == SentencePieceOptions::Kind::own_model) {
    rules.emplace(nfc_rules());
    all["normalization_rule_tsv"] = rules->path();
  }
  const auto status = sentencepiece::SentencePieceTrainer::Train(all, &texts, &model);
  if (!status.ok())
    throw UsageError(str("vocab: ", options.type, " pieces cannot be trained: ", status.message()),
                     "give more text, or another size");
  return rules ? without_rules_path(std::move(model)) : model;
}

std::vector<std::pair<std::string, float>> scored_pieces(const std::string& model) {
  sentencepiece::SentencePieceProcessor processor;
  const auto status = processor.LoadFromSerializedProto(model);
  CHECK(status.ok(), status.message());
  std::vector<std::pair<std::string, float>> pieces;
  for (int id = 0; id < processor.GetPieceSize(); ++id)
    if (!processor.IsUnknown(id) && !processor.IsControl(id))
      pieces.emplace_back(processor.IdToPiece(id), processor.GetScore(id));
  return pieces;
}

std::vector<std::string> as_wordpieces(const std::string& model, std::int64_t limit) {
  constexpr std::string_view kWordBegin = "\xE2\x96\x81";
  sentencepiece::SentencePieceProcessor processor;
  const auto status = processor.LoadFromSerializedProto(model);
  CHECK(status.ok(), status.message());
  std::set<std::string> characters;
  std::vector<std::string> longer;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    const std::string& piece = processor.IdToPiece(id);
    if (processor.IsUnknown(id) || processor.IsControl(id) || piece == kWordBegin) continue;
    const bool begins = piece.starts_with(kWordBegin);
    const std::string text = begins ? piece.substr(kWordBegin.size()) : piece;
    if (to_code_points(text).size() == 1)
      characters.insert(text);
    else
      longer.push_back(begins ? text : "##" + text);
  }
  if (2 * std::ssize(characters) > limit)
    throw UsageError(str("vocab: ", limit, " pieces are too few for ", characters.size(),
                         " characters, which need two pieces each"),
                     "raise the vocabulary's size or lower the coverage");
  std::vector<std::string> pieces(characters.begin(), characters.end());
  for (const std::string& character : characters) pieces.push_back("##" + character);
  for (std::string& piece : longer)
    if (std::ssize(pieces) < limit) pieces.push_back(std::move(piece));
  return pieces;
}

}  // namespace smelt::text
