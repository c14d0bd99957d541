#include "text/tokenizers/mapped_text.h"

#include <unicode/utf8.h>

#include <cstdint>

#include "text/readers/unicode.h"

namespace smelt::text {

MappedText MappedText::of(std::string_view utf8, std::size_t offset, bool keep_sources) {
  MappedText out{.text = {}, .sources = {}, .has_sources = keep_sources};
  if (!keep_sources && is_ascii(utf8)) out.text = utf8;
  if (!out.text.empty()) return out;
  out.text.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    UChar32 c;
    U8_NEXT(reinterpret_cast<const std::uint8_t*>(utf8.data()), at, utf8.size(), c);
    if (c >= 0) out.append(utf8.substr(begin, at - begin), {offset + begin, offset + at});
  }
  return out;
}

void MappedText::append(const MappedText& other, std::size_t begin, std::size_t end) {
  text += std::string_view(other.text).substr(begin, end - begin);
  if (!has_sources) return;
  const auto first = other.sources.begin();
  sources.insert(sources.end(), first + static_cast<std::ptrdiff_t>(begin),
                 first + static_cast<std::ptrdiff_t>(end));
}

}  // namespace smelt::text
