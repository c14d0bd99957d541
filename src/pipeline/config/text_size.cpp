#include "pipeline/config/text_size.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number_format.h"
#include "base/progress.h"
#include "data/input_pipeline/description.h"
#include "data/input_pipeline/example_source.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "text/readers/rows.h"
#include "text/readers/sentences.h"
#include "train/training_clock.h"

namespace smelt::pipeline {
namespace {

constexpr double kCharactersOfToken = 4.5;
constexpr std::size_t kSampleBytes = std::size_t{1} << 18;

bool is_packed(const std::string& file) {
  return file.ends_with(".gz") || file.ends_with(".bz2") || file.ends_with(".zst") ||
         file.ends_with(".parquet");
}

// Estimates the tokens per byte of a UTF-8 text. `text` is its beginning.
double token_share(std::string_view text) {
  double tokens = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // 0xE3 to 0xED begin characters in U+3000 to U+DFFF: kana, ideographs, Hangul.
    if (byte >= 0xE3 && byte <= 0xED)
      tokens += 1;
    else if ((byte & 0xC0U) != 0x80U)  // begins another character
      tokens += 1 / kCharactersOfToken;
  }
  return tokens / static_cast<double>(std::max<std::size_t>(1, text.size()));
}

// Returns whether a line is in Thai or Lao, which have no punctuation at the end of a sentence.
bool is_unmarked(std::string_view line) {
  for (std::size_t i = 0; i + 1 < line.size(); ++i)
    if (line[i] == '\xE0' && line[i + 1] >= '\xB8' && line[i + 1] <= '\xBB') return true;
  return false;
}

UChar32 first_character(std::string_view line) {
  std::int32_t at = 0;
  UChar32 c = 0;
  U8_NEXT(line.data(), at, static_cast<std::int32_t>(line.size()), c);
  return c;
}

UChar32 last_character(std::string_view line) {
  auto at = static_cast<std::int32_t>(line.size());
  UChar32 c = 0;
  U8_PREV(line.data(), 0, at, c);
  return c;
}

// Statistics of the lines of a text, which show whether a line is a sentence.
struct LineCounts {
  std::size_t lines = 0;     // not counting empty lines
  std::size_t capitals = 0;  // of these, lines that begin with a capital
  std::size_t single = 0;    // of these, lines of one sentence
  std::size_t followed = 0;  // of these, lines that are followed by another one
  // Followed lines without punctuation that ends a sentence:
  std::size_t full = 0;    // lines of about the same length as the longest line
  std::size_t broken = 0;  // lines before a line that begins with a lower-case letter
};

LineCounts count_lines(const std::vector<std::string_view>& all) {
  constexpr double kFull = 0.75;
  constexpr std::size_t kLongestUnmarked = 900;
  text::SentenceSplitter splitter;
  std::vector<std::string> sentences;
  LineCounts out;
  std::size_t longest = 0;
  for (const std::string_view line : all) longest = std::max(longest, trim(line).size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view line = trim(all[i]);
    if (line.empty()) continue;
    ++out.lines;
    if (u_isupper(first_character(line)) != 0) ++out.capitals;
    sentences.clear();
    splitter.split(line, sentences);
    if (is_unmarked(line) ? line.size() <= kLongestUnmarked : sentences.size() == 1) ++out.single;
    const std::string_view next = i + 1 == all.size() ? std::string_view{} : trim(all[i + 1]);
    if (next.empty()) continue;
    ++out.followed;
    if (u_hasBinaryProperty(last_character(line), UCHAR_S_TERM) != 0) continue;
    if (static_cast<double>(line.size()) >= kFull * static_cast<double>(longest)) ++out.full;
    if (u_islower(first_character(next)) != 0) ++out.broken;
  }
  return out;
}

// Returns whether the text seems to have one sentence a line and empty lines between documents:
// most lines are one sentence, and the text is not wrapped. In wrapped text, most lines are about
// as long as the longest line, or many sentences continue on a line that begins in lower case.
bool has_sentence_lines(std::string_view text) {
  constexpr double kMostAreSentences = 0.9, kMostAreFull = 0.75, kManyAreBroken = 0.3;
  constexpr std::size_t kLeastLines = 5;
  const auto all = split(text.substr(0, text.rfind('\n')), '\n');
  const LineCounts n = count_lines(all);
  const bool has_documents = n.lines < all.size();
  const bool is_wrapped = share(n.full, n.followed) >= kMostAreFull ||
                          (n.capitals > 0 && share(n.broken, n.followed) >= kManyAreBroken);
  return has_documents && n.lines >= kLeastLines && n.followed > 0 &&
         share(n.single, n.lines) >= kMostAreSentences && !is_wrapped;
}

// Returns the first kSampleBytes of the uncompressed files, concatenated.
std::string sample_of(const std::vector<std::string>& files) {
  std::string out;
  for (const std::string& file : files) {
    if (out.size() >= kSampleBytes) break;
    if (is_packed(file)) continue;
    std::string part(kSampleBytes - out.size(), ' ');
    part.resize(io::InputFile(file).read(part));
    out += part;
  }
  return out;
}

// Returns the number of examples according to the description of the recipe's records; nullopt if
// there are no records or their description lacks it.
std::optional<double> described_examples(const Recipe& r) {
  const auto files = record_files(RecipePaths(r).train_records);
  if (files.empty()) return std::nullopt;
  const auto described = data::find_description(files);
  if (!described || !described->examples) return std::nullopt;
  return static_cast<double>(*described->examples);
}

// Returns the number of training examples; nullopt if they are not made yet. Counts the records if
// they have no description.
std::optional<double> made_examples(const Recipe& r) {
  if (record_files(RecipePaths(r).train_records).empty()) return std::nullopt;
  if (const auto described = described_examples(r)) return described;
  const model::Task task = r.type->task(r);
  const auto source = data::open_examples(
      {.input = RecipePaths(r).train_records, .features = task.features, .windows = task.windows});
  return static_cast<double>(source->epoch_size());
}

}  // namespace

double unpacked_bytes(const std::vector<std::string>& files) {
  std::vector<std::string> packed, plain;
  for (const std::string& file : files) {
    const bool is_packed = file.ends_with(".gz") || file.ends_with(".bz2") ||
                           file.ends_with(".zst") || file.ends_with(".parquet");
    (is_packed ? packed : plain).push_back(file);
  }
  return static_cast<double>(io::total_size(plain)) +
         4 * static_cast<double>(io::total_size(packed));
}

std::optional<TextSize> text_size(const std::vector<std::string>& files) {
  if (files.empty() || std::ranges::any_of(files, io::is_remote)) return std::nullopt;
  TextSize out{.bytes = unpacked_bytes(files)};
  const auto plain = std::ranges::find_if_not(files, is_packed);
  double tokens = 1 / kCharactersOfToken;  // tokens per byte
  if (plain != files.end()) {
    const std::string sample = sample_of(files);
    tokens = token_share(sample);
    if (text::format_of(*plain, text::FileFormat::by_name) == text::FileFormat::text)
      out.has_sentence_lines = has_sentence_lines(sample);
  }
  out.tokens = out.bytes * tokens;
  return out;
}

VocabularySize suitable_vocabulary(const TextSize& text) {
  // Chinese, Japanese and Korean have thousands of characters and need a larger vocabulary.
  constexpr double kMostTokensOfByte = 0.25;
  const bool has_many_characters = text.tokens > kMostTokensOfByte * text.bytes;
  const std::string of = str("for ", bytes_text(text.bytes), " of text");
  if (has_many_characters && text.bytes < 1e7)
    return {16000, of + " in a script of thousands of characters"};
  if (has_many_characters || text.bytes >= 1e8) return {30000, of};
  const std::string more = "30000 from 100 MB on";
  if (text.bytes >= 1e7) return {16000, str(of, "; ", more)};
  return {8000, str(of, "; 16000 from 10 MB, ", more)};
}

std::optional<TextSize> training_text(const Recipe& r) {
  if (!r.type->reads_text() || !r.ready.records.empty()) return std::nullopt;
  const std::string made = RecipePaths(r).train_text;
  if (io::exists(made)) return text_size({made});
  if (r.text.input.empty() || io::is_remote(r.text.input)) return std::nullopt;
  try {
    auto size = text_size(text_inputs(r));
    if (size) size->bytes *= 1 - r.text.heldout, size->tokens *= 1 - r.text.heldout;
    return size;
  } catch (const Error&) {
    return std::nullopt;  // the text is not on this machine
  }
}

std::int64_t tokens_of_example(const Recipe& r) {
  if (!r.program->step) return 0;
  std::int64_t tokens = 0;
  for (const io::Feature& feature : r.program->step->features)
    tokens = std::max(tokens, feature.count());
  return tokens;
}

double examples_of_text(const Recipe& r, const TextSize& text) {
  // Share of an example that is not padding. Examples that end with a document are shorter.
  constexpr double kFilled = 0.85;
  const auto tokens = static_cast<double>(std::max<std::int64_t>(1, tokens_of_example(r)));
  return std::ceil(text.tokens * r.data.value("dupe_factor", 1.0) / (kFilled * tokens));
}

double held_out_examples(double bytes, double tokens) {
  constexpr double kBytesOfToken = 5;
  return bytes / kBytesOfToken / tokens;
}

// Returns the number of examples to expect from the size of the text.
static std::optional<double> expected_examples(const Recipe& r) {
  const auto text = training_text(r);
  if (!text || tokens_of_example(r) == 0) return std::nullopt;
  return examples_of_text(r, *text);
}

std::optional<double> training_examples(const Recipe& r) {
  const auto made = made_examples(r);
  return made ? made : expected_examples(r);
}

std::optional<double> training_passes(const Recipe& r) try {
  const double dupe_factor = r.data.value("dupe_factor", 1.0);
  if (r.train.seconds > 0) return std::nullopt;
  if (r.train.epochs > 0) return r.train.epochs * dupe_factor;
  const auto described = described_examples(r);
  const auto examples = described ? described : expected_examples(r);
  if (!examples || *examples <= 0) return std::nullopt;
  return static_cast<double>(r.train.steps) * static_cast<double>(r.train.batch_size) / *examples *
         dupe_factor;
} catch (const Error&) {
  return std::nullopt;  // the stage that reads the records reports it
}

std::string usual_passes(double bytes) {
  return bytes >= 1e9 ? "about 40" : bytes >= 1e8 ? "40 to 100" : "40 to 200";
}

std::string count_text(double value) {
  if (value < 1e4) return rounded(value, 0);
  if (value < 1e6) return rounded(value / 1e3, 1) + " thousand";
  if (value < 1e9) return rounded(value / 1e6, 1) + " million";
  return rounded(value / 1e9, 1) + " billion";
}

std::string run_length_text(const Recipe& r) {
  if (r.train.seconds > 0)
    return str(train::hours_text(r.train.seconds), " of training in steps of ", r.train.batch_size,
               " examples");
  const double examples =
      static_cast<double>(r.train.steps) * static_cast<double>(r.train.batch_size);
  std::string out =
      str(r.train.steps, " steps of ", r.train.batch_size, ": ", count_text(examples), " examples");
  if (const std::int64_t tokens = tokens_of_example(r); tokens > 0)
    out += str(", ", count_text(examples * static_cast<double>(tokens)), " tokens");
  const auto passes = training_passes(r);
  if (!passes) return out;
  const bool of_rows = r.type->reads == Reads::rows;
  out += str(", about ", rounded(*passes, *passes < 10 ? 1 : 0), " passes over the ",
             of_rows ? "rows" : "text");
  if (of_rows) return out + " (2 to 4 are usual)";
  const auto text = training_text(r);
  return text ? str(out, " (", usual_passes(text->bytes), " are usual for ",
                    bytes_text(text->bytes), ")")
              : out;
}

}  // namespace smelt::pipeline
