// Detects periods that do not end a sentence: abbreviations, initials and German dates.
#pragma once

#include <unicode/unistr.h>

#include <cstdint>

namespace smelt::text {

// Returns whether the period before `end` (with white space between them) belongs to an
// abbreviation or an initial, such as "Dr. ", "И. " or "z. ", or to a German date, such as "3.
// Oktober". `end` is where the next sentence would begin. If a word that often begins a sentence,
// such as "He", follows a title or an initial, the period does end the sentence, so the result is
// false.
bool is_abbreviation(const icu::UnicodeString& text, std::int32_t end);

}  // namespace smelt::text
