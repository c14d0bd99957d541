#include "text/tokenizers/sentinels.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"

namespace smelt::text {
namespace {

constexpr std::string_view kSentinelBegin = "<extra_id_", kSpaceMark = "\xE2\x96\x81";

// Returns n for <extra_id_n> or mT5's "▁<extra_id_n>", and -1 for other pieces.
std::int64_t sentinel_number(std::string_view piece) {
  if (piece.starts_with(kSpaceMark)) piece.remove_prefix(kSpaceMark.size());
  if (!piece.starts_with(kSentinelBegin) || !piece.ends_with('>')) return -1;
  const std::string_view digits =
      piece.substr(kSentinelBegin.size(), piece.size() - kSentinelBegin.size() - 1);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : -1;
}

}  // namespace

Sentinels sentinels_of(const Tokenizer& tokenizer, const std::string& origin, std::int64_t extra) {
  if (extra < 0)
    throw UsageError(str(origin, ": ", extra, " sentinels, must be at least 0"),
                     "use 100 as in T5, or 0 for none");
  std::map<std::int64_t, std::int32_t> own;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    if (const std::int64_t number = sentinel_number(tokenizer.token(id)); number >= 0)
      own[number] = id;
  const std::int64_t size = tokenizer.size();
  if (own.empty()) return {static_cast<std::int32_t>(size + extra - 1), extra, size + extra};
  const std::int32_t first = own.begin()->second;
  for (std::int64_t expected = 0; const auto& [number, id] : own) {
    if (number != expected || id != first - number)
      throw UsageError(str(origin, ": <extra_id_", number, "> has id ", id,
                           "; the ids of sentinels must "
                           "descend by 1 from that of <extra_id_0>"),
                       "make a vocabulary with descending sentinels, or without sentinels, so that "
                       "they get ids above the pieces");
    ++expected;
  }
  return {first, std::ssize(own), size};
}

std::int64_t sentinels_on_top(std::int64_t pieces, std::int64_t rows,
                              const std::vector<AddedToken>& added) {
  constexpr std::int64_t kSentinelsOfT5 = 100;
  for (const AddedToken& token : added)
    if (token.id >= pieces) rows = std::min<std::int64_t>(rows, token.id);
  return std::clamp<std::int64_t>(rows - pieces, 0, kSentinelsOfT5);
}

std::int32_t id_of_piece(const Tokenizer& tokenizer, const std::string& origin,
                         const std::string& piece) {
  if (const auto id = find_piece(tokenizer, piece)) return *id;
  throw UsageError(str(origin, ": no piece '", piece, "'"),
                   str("use a vocabulary that has it, such as T5's spiece.model, or make one with "
                       "`smelt vocab train --type unigram --out x.model`"));
}

}  // namespace smelt::text
