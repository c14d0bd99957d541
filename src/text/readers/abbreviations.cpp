#include "text/readers/abbreviations.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace smelt::text {
namespace {

// Abbreviations that are followed by another word, such as "Dr." and "cf.", in English, German,
// French, Spanish, Italian, Portuguese and Russian. Excludes those that often end a sentence
// ("etc.", "Inc.").
constexpr auto kBeforeWords = std::to_array<std::u16string_view>(
    {u"Abg",    u"Adm",  u"Avv",  u"Brig", u"Capt", u"Cdr",  u"Cmdr", u"Col", u"Dipl", u"Dott",
     u"Dr",     u"Dra",  u"Dres", u"Drs",  u"Dña",  u"Eng",  u"Exmo", u"Frl", u"Gen",  u"Gov",
     u"Hon",    u"Hr",   u"Hrn",  u"Hrsg", u"Ing",  u"Insp", u"Lic",  u"Lt",  u"MM",   u"Maj",
     u"Messrs", u"Mlle", u"Mme",  u"Mr",   u"Mrs",  u"Ms",   u"Mt",   u"Ph",  u"Pres", u"Prof",
     u"Rep",    u"Rev",  u"Sen",  u"Sgt",  u"Sig",  u"Sigg", u"Sr",   u"Sra", u"Srta", u"St",
     u"Sta",    u"Ste",  u"Supt", u"Ud",   u"Vgl",  u"Uds",  u"bzw",  u"ca",  u"cf",   u"dott",
     u"evtl",   u"ggf",  u"ing",  u"inkl", u"prof", u"sog",  u"vgl",  u"vs",  u"zzgl", u"акад",
     u"гл",     u"гр",   u"доц",  u"им",   u"кн",   u"напр", u"обл",  u"пер", u"пл",   u"пос",
     u"просп",  u"проф", u"св",   u"см",   u"ср",   u"ст",   u"тов",  u"ул"});
// Abbreviations before numbers; elsewhere they may be the last word of a sentence.
constexpr auto kBeforeNumbers = std::to_array<std::u16string_view>(
    {u"Abb", u"Abs", u"Art", u"Bd",  u"Fig", u"Kap", u"No",  u"Nos", u"Nr",
     u"Núm", u"Tab", u"Vol", u"art", u"fig", u"no",  u"nr",  u"núm", u"pag",
     u"pp",  u"pág", u"vol", u"гл",  u"рис", u"стр", u"табл"});
constexpr auto kGermanMonths = std::to_array<std::u16string_view>(
    {u"Januar", u"Jänner", u"Februar", u"März", u"April", u"Mai", u"Juni", u"Juli", u"August",
     u"September", u"Oktober", u"November", u"Dezember"});

// Pronouns, articles and other words that often begin a sentence in the same languages. Excludes
// common surnames such as "Das".
constexpr auto kBeginners = std::to_array<std::u16string_view>(
    {u"A",      u"An",     u"And",    u"But",  u"He",    u"Her",    u"His",  u"I",     u"If",
     u"It",     u"Its",    u"My",     u"Our",  u"She",   u"That",   u"The",  u"Their", u"Then",
     u"There",  u"These",  u"They",   u"This", u"Those", u"We",     u"What", u"When",  u"You",
     u"Aber",   u"Dann",   u"Der",    u"Die",  u"Diese", u"Dieser", u"Ein",  u"Eine",  u"Er",
     u"Es",     u"Ich",    u"Ihr",    u"Sie",  u"Und",   u"Wir",    u"Ce",   u"Ces",   u"Cette",
     u"Elle",   u"Elles",  u"Il",     u"Ils",  u"Je",    u"Nous",   u"On",   u"Vous",  u"Ellos",
     u"Luego",  u"Pero",   u"Yo",     u"Él",   u"Io",    u"Lei",    u"Loro", u"Noi",   u"Poi",
     u"Questa", u"Questo", u"Depois", u"Ele",  u"Eles",  u"Eu",     u"Isso", u"Mas",   u"Nós",
     u"Вы",     u"Затем",  u"Мы",     u"Но",   u"Он",    u"Она",    u"Они",  u"Оно",   u"Потом",
     u"Ты",     u"Эта",    u"Это",    u"Этот", u"Я"});

bool is_letter(UChar32 c) { return (U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_M_MASK)) != 0; }

bool is_one_of(const auto& words, std::u16string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::u16string_view part(const icu::UnicodeString& text, std::int32_t begin, std::int32_t end) {
  return {text.getBuffer() + begin, static_cast<std::size_t>(end - begin)};
}

// Returns the beginning of the run of `wanted` characters that ends at `end`.
std::int32_t begin_of_run(const icu::UnicodeString& text, std::int32_t end, auto&& wanted) {
  while (end > 0 && wanted(text.char32At(text.moveIndex32(end, -1))))
    end = text.moveIndex32(end, -1);
  return end;
}

std::u16string_view letters_from(const icu::UnicodeString& text, std::int32_t begin) {
  std::int32_t end = begin;
  while (end < text.length() && is_letter(text.char32At(end))) end = text.moveIndex32(end, 1);
  return part(text, begin, end);
}

// Returns the word before `end`, skipping white space and at most one period. Sets `has_period` if
// there was a period.
std::u16string_view word_before(const icu::UnicodeString& text, std::int32_t end,
                                bool& has_period) {
  end = begin_of_run(text, end, u_isUWhiteSpace);
  has_period = end > 0 && text[end - 1] == u'.';
  if (has_period) --end;
  return part(text, begin_of_run(text, end, is_letter), end);
}

bool is_letter_and_period(const icu::UnicodeString& text, std::int32_t begin) {
  return letters_from(text, begin).size() == 1 && begin + 1 < text.length() &&
         text[begin + 1] == u'.';
}

// Returns whether the word at `begin` is one that often begins a sentence. Returns false for an
// initial.
bool begins_sentence(const icu::UnicodeString& text, std::int32_t begin) {
  return !is_letter_and_period(text, begin) && is_one_of(kBeginners, letters_from(text, begin));
}

// Returns whether the letter at `begin`, which a period follows, is an initial or part of an
// abbreviation such as "z. B.". `end` is where the next word begins.
bool is_initial(const icu::UnicodeString& text, std::int32_t begin, std::int32_t end) {
  const UChar32 letter = text.char32At(begin);
  bool has_period = false;
  const std::u16string_view before = word_before(text, begin, has_period);
  const bool follows_one = has_period && before.size() == 1;
  const bool follows_lower = !before.empty() && u_islower(before.front());
  // "и т. д." and "и т. п." ("and so on") end sentences, and so does the English word "I".
  if (letter == U'д' || letter == U'п') return !(follows_one && before == u"т");
  if (letter == U'I' && follows_lower && !has_period) return false;
  const bool is_abbreviated_phrase = follows_one && follows_lower;  // "z. B."
  if (u_isupper(letter)) return is_abbreviated_phrase || !begins_sentence(text, end);
  return u_islower(letter) && (follows_one || is_letter_and_period(text, end));
}

}  // namespace

bool is_abbreviation(const icu::UnicodeString& text, std::int32_t end) {
  std::int32_t dot = begin_of_run(text, end, u_isUWhiteSpace);
  if (dot == 0 || text[--dot] != u'.' || end >= text.length()) return false;
  const UChar32 next = text.char32At(end);
  const std::int32_t number = begin_of_run(text, dot, u_isdigit);
  if (number < dot) return dot - number <= 2 && is_one_of(kGermanMonths, letters_from(text, end));
  const std::int32_t begin = begin_of_run(text, dot, is_letter);
  const std::u16string_view word = part(text, begin, dot);
  if (word.empty()) return false;
  if (word.size() == 1) return is_initial(text, begin, end);
  return (is_one_of(kBeforeWords, word) && !begins_sentence(text, end)) ||
         (u_isdigit(next) && is_one_of(kBeforeNumbers, word));
}

}  // namespace smelt::text
