#include "text/sentences.h"

#include <unicode/brkiter.h>

#include "base/error.h"
#include "text/unicode.h"

namespace smelt {

struct SentenceSplitter::Iterator {
  std::unique_ptr<icu::BreakIterator> breaks;
};

SentenceSplitter::SentenceSplitter() : iterator_(std::make_unique<Iterator>()) {
  UErrorCode status = U_ZERO_ERROR;
  iterator_->breaks.reset(
      icu::BreakIterator::createSentenceInstance(icu::Locale::getEnglish(), status));
  CHECK(U_SUCCESS(status), u_errorName(status));
}

SentenceSplitter::~SentenceSplitter() = default;

void SentenceSplitter::split(std::string_view paragraph, std::vector<std::string>& sentences) {
  const auto text = icu::UnicodeString::fromUTF8(
      icu::StringPiece(paragraph.data(), static_cast<std::int32_t>(paragraph.size())));
  icu::BreakIterator& breaks = *iterator_->breaks;
  breaks.setText(text);
  std::int32_t begin = breaks.first();
  for (std::int32_t end = breaks.next(); end != icu::BreakIterator::DONE; end = breaks.next()) {
    std::string sentence;
    text.tempSubStringBetween(begin, end).toUTF8String(sentence);
    const std::string_view stripped = python_strip(sentence);
    if (!stripped.empty()) sentences.emplace_back(stripped);
    begin = end;
  }
}

}  // namespace smelt
