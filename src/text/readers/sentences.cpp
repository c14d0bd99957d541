#include "text/readers/sentences.h"

#include <unicode/brkiter.h>
#include <unicode/uscript.h>

#include <algorithm>

#include "base/error.h"
#include "text/readers/abbreviations.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

using Breaks = std::unique_ptr<icu::BreakIterator>;

Breaks sentence_breaks(const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  Breaks breaks(icu::BreakIterator::createSentenceInstance(locale, status));
  CHECK(U_SUCCESS(status), u_errorName(status));
  return breaks;
}

UScriptCode script_of(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  return uscript_getScript(c, &status);
}

// Scripts in a paragraph that need rules beyond ICU's.
struct Scripts {
  bool greek = false;     // more than half of the letters are Greek
  bool unmarked = false;  // contains Thai or Lao, which have no sentence marks
  bool signs = false;     // contains Khmer or Tibetan, whose marks ICU does not know

  explicit Scripts(const icu::UnicodeString& text) {
    std::int32_t greek_letters = 0, letters = 0;
    for (std::int32_t i = 0; i < text.length(); ++i) {
      const char16_t c = text[i];
      letters += c > 0x7F || u_isalpha(c) ? 1 : 0;
      greek_letters += c >= 0x370 && c < 0x400 ? 1 : 0;
      unmarked = unmarked || (c >= 0x0E00 && c < 0x0F00);
      signs = signs || (c >= 0x0F00 && c < 0x1000) || (c >= 0x1780 && c < 0x1800);
    }
    greek = 2 * greek_letters > letters;
  }
};

// A UTF-16 paragraph and the ends of its sentences.
class Paragraph {
 public:
  explicit Paragraph(std::string_view utf8)
      : text_(icu::UnicodeString::fromUTF8(
            icu::StringPiece(utf8.data(), static_cast<std::int32_t>(utf8.size())))) {}

  const icu::UnicodeString& text() const { return text_; }

  void find_ends(icu::BreakIterator& breaks) {
    breaks.setText(text_);
    breaks.first();
    for (std::int32_t end = breaks.next(); end != icu::BreakIterator::DONE; end = breaks.next())
      if (!is_abbreviation(text_, end)) ends_.push_back(before_opening(end));
  }

  // Adds sentence ends after Khmer and Tibetan signs.
  void add_signs() {
    std::vector<std::int32_t> added;
    for (std::int32_t i = 0; i < text_.length(); ++i)
      if (is_khmer_end(i) || is_tibetan_end(i)) {
        while (i + 1 < text_.length() && is_sign_or_space(text_[i + 1])) ++i;
        added.push_back(i + 1);
      }
    merge(added);
  }

  // Adds a sentence end at a space between two Thai or Lao letters after kUnmarkedSentence
  // characters.
  void add_spaces() {
    std::vector<std::int32_t> added;
    std::int32_t begin = 0;
    auto next = ends_.begin();
    for (std::int32_t i = 0; i < text_.length(); ++i) {
      for (; next != ends_.end() && *next <= i; ++next) begin = *next;
      if (text_[i] != u' ' || !is_unmarked(i - 1) || !begins_unmarked(i + 1) ||
          text_.countChar32(begin, i - begin) < kUnmarkedSentence)
        continue;
      begin = i + 1;
      added.push_back(begin);
    }
    merge(added);
  }

  void append_to(std::vector<std::string>& sentences) const {
    std::int32_t begin = 0;
    for (const std::int32_t end : ends_) {
      std::string sentence;
      text_.tempSubStringBetween(begin, end).toUTF8String(sentence);
      const std::string_view stripped = python_strip(sentence);
      if (!stripped.empty()) sentences.emplace_back(stripped);
      begin = end;
    }
  }

 private:
  char16_t at(std::int32_t i) const { return i < 0 || i >= text_.length() ? u'\0' : text_[i]; }

  // Moves a sentence end to the left of opening brackets and quotes. If one directly follows a full
  // stop, ICU treats it as a closing one and includes it in the sentence. A quote before a space or
  // at the end of the text really is closing, such as the German “.
  std::int32_t before_opening(std::int32_t end) const {
    if (end >= text_.length()) return end;
    while (end > 0) {
      const std::int8_t type = u_charType(at(end - 1));
      const bool opens = type == U_START_PUNCTUATION ||
                         (type == U_INITIAL_PUNCTUATION && !u_isUWhiteSpace(at(end)));
      if (!opens) break;
      --end;
    }
    return end;
  }

  static bool is_khmer_sign(char16_t c) { return c == u'\u17D4' || c == u'\u17D5'; }
  static bool is_sign_or_space(char16_t c) {
    return c == u' ' || c == u'\u00A0' || is_tibetan_end_mark(c) || is_khmer_sign(c);
  }
  // Returns whether the Khmer sign at `i` ends a sentence. "។ល។" means "and so on".
  bool is_khmer_end(std::int32_t i) const {
    return is_khmer_sign(at(i)) && !(at(i + 1) == u'\u179B' && is_khmer_sign(at(i + 2)));
  }
  bool is_tibetan_end(std::int32_t i) const {
    return is_tibetan_end_mark(at(i)) && (i + 1 == text_.length() || is_sign_or_space(at(i + 1)));
  }

  bool is_unmarked(std::int32_t i) const {
    const UScriptCode script = script_of(at(i));
    return script == USCRIPT_THAI || script == USCRIPT_LAO;
  }
  // Returns whether a sentence can begin with the character: not with a repetition or abbreviation
  // mark.
  bool begins_unmarked(std::int32_t i) const {
    const char16_t c = at(i);
    return is_unmarked(i) && u_isalpha(c) && c != u'\u0E2F' && c != u'\u0E46' && c != u'\u0EAF' &&
           c != u'\u0EC6';
  }

  void merge(const std::vector<std::int32_t>& added) {
    ends_.insert(ends_.end(), added.begin(), added.end());
    std::ranges::sort(ends_);
    ends_.erase(std::ranges::unique(ends_).begin(), ends_.end());
  }

  icu::UnicodeString text_;
  std::vector<std::int32_t> ends_;
};

}  // namespace

struct SentenceSplitter::Iterators {
  Breaks english = sentence_breaks(icu::Locale::getEnglish());
  Breaks greek = sentence_breaks(icu::Locale("el"));
};

SentenceSplitter::SentenceSplitter() : iterators_(std::make_unique<Iterators>()) {}

SentenceSplitter::~SentenceSplitter() = default;

void SentenceSplitter::split(std::string_view utf8, std::vector<std::string>& sentences) {
  Paragraph paragraph(utf8);
  const Scripts scripts = is_ascii(utf8) ? Scripts({}) : Scripts(paragraph.text());
  paragraph.find_ends(scripts.greek ? *iterators_->greek : *iterators_->english);
  if (scripts.signs) paragraph.add_signs();
  if (scripts.unmarked) paragraph.add_spaces();
  paragraph.append_to(sentences);
}

}  // namespace smelt::text
