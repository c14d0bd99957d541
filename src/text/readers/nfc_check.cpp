#include "text/readers/nfc_check.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace smelt::text {
namespace {

const icu::Normalizer2& nfc_form() {
  UErrorCode status = U_ZERO_ERROR;
  static const icu::Normalizer2* const form = icu::Normalizer2::getNFCInstance(status);
  CHECK(form != nullptr, u_errorName(status));
  return *form;
}

// The effect that NFC can have on a character: none, reordering among adjacent marks, composition
// with a preceding character, or replacement.
enum class Nfc : std::uint8_t { keeps, orders, composes, changes };

Nfc nfc_of(UChar32 c) {
  const std::int32_t check = u_getIntPropertyValue(c, UCHAR_NFC_QUICK_CHECK);
  return check == UNORM_NO             ? Nfc::changes
         : check == UNORM_MAYBE        ? Nfc::composes
         : u_getCombiningClass(c) != 0 ? Nfc::orders
                                       : Nfc::keeps;
}

// Properties of the characters of the Basic Multilingual Plane that determine the effect of NFC.
struct NfcTable {
  static constexpr std::size_t kSize = 0x10000;

  std::vector<Nfc> of = std::vector<Nfc>(kSize);
  std::vector<bool> begins_pair =
      std::vector<bool>(kSize);  // whether NFC may compose the character with a later one
  // Combining class of the last character of the character's decomposition.
  std::vector<std::uint8_t> mark = std::vector<std::uint8_t>(kSize);
  // For each block of 64 characters: whether NFC keeps all of them. The characters of a block
  // differ only in the last byte of their UTF-8 encoding.
  std::array<bool, kSize / 64> keeps_block;

  NfcTable() {
    const icu::Normalizer2& form = nfc_form();
    keeps_block.fill(true);
    icu::UnicodeString pair;
    for (std::size_t i = 0; i < kSize; ++i) {
      const auto c = static_cast<UChar32>(i);
      of[i] = nfc_of(c);
      mark[i] = static_cast<std::uint8_t>(
          u_getIntPropertyValue(c, UCHAR_TRAIL_CANONICAL_COMBINING_CLASS));
      if (of[i] != Nfc::keeps) keeps_block[i / 64] = false;
      if (form.getRawDecomposition(c, pair) && pair.length() == 2) begins_pair[pair[0]] = true;
    }
  }
};

// Returns true if NFC certainly keeps the character `c` at byte `begin`, provided that it keeps all
// characters before `begin`.
bool is_kept_here(const NfcTable& table, std::string_view text, std::size_t begin, std::size_t c) {
  if (table.of[c] == Nfc::changes || begin == 0) return table.of[c] != Nfc::changes;
  auto at = static_cast<std::int32_t>(begin);
  UChar32 before;
  U8_PREV(reinterpret_cast<const std::uint8_t*>(text.data()), 0, at, before);
  const auto first = static_cast<std::size_t>(before);
  if (before < 0 || first >= NfcTable::kSize) return false;
  const std::uint8_t mark = table.mark[first], own = table.mark[c];
  if (table.of[c] == Nfc::orders) return mark <= own;
  // A mark of another combining class does not stop `c` from composing with a character before it.
  if (mark != 0 && own != 0 && mark != own) return false;
  if (table.of[first] == Nfc::keeps && mark > own) return false;
  return !table.begins_pair[first] || nfc_form().composePair(before, static_cast<UChar32>(c)) < 0;
}

}  // namespace

bool is_quickly_nfc(std::string_view text) {
  static const NfcTable kTable;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::size_t size = text.size();
  const auto rest = [&](std::size_t at) { return bytes[at] & 0x3FU; };
  const auto is_rest = [&](std::size_t at) { return (bytes[at] & 0xC0U) == 0x80; };
  // The second byte after 0xE0 and 0xED is restricted to exclude overlong sequences and surrogates.
  const auto is_second = [&](std::size_t at, std::uint32_t lead) {
    return is_rest(at) && (lead != 0xE0 || bytes[at] >= 0xA0) && (lead != 0xED || bytes[at] < 0xA0);
  };
  const auto is_kept = [&](std::size_t at, std::size_t block, std::size_t last) {
    if (kTable.keeps_block[block]) return true;
    const std::size_t c = block << 6 | last;
    return kTable.of[c] == Nfc::keeps || is_kept_here(kTable, text, at, c);
  };
  for (std::size_t at = 0; at < size;) {
    const std::uint32_t lead = bytes[at];
    if (lead < 0x80) {
      ++at;
    } else if (lead >= 0xC2 && lead < 0xE0 && size - at >= 2 && is_rest(at + 1)) {
      if (!is_kept(at, lead & 0x1FU, rest(at + 1))) return false;
      at += 2;
    } else if (lead >= 0xE0 && lead < 0xF0 && size - at >= 3 && is_second(at + 1, lead) &&
               is_rest(at + 2)) {
      if (!is_kept(at, (lead & 0x0FU) << 6 | rest(at + 1), rest(at + 2))) return false;
      at += 3;
    } else {
      UChar32 c;
      U8_NEXT(bytes, at, size, c);
      if (c < static_cast<UChar32>(NfcTable::kSize) || nfc_of(c) != Nfc::keeps) return false;
    }
  }
  return true;
}

}  // namespace smelt::text
