// A transformed text with the source range of each byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt::text {

struct MappedText {
  using Source = std::pair<std::size_t, std::size_t>;  // [begin, end) in the original text

  std::string text;
  std::vector<Source> sources;  // by byte of `text`; empty if sources are not kept
  bool has_sources = true;

  // Returns `utf8` without ill-formed bytes. Its first byte is byte `offset` of the original text.
  static MappedText of(std::string_view utf8, std::size_t offset, bool keep_sources);

  // Returns an empty text that keeps sources if this one does.
  MappedText like() const { return {.text = {}, .sources = {}, .has_sources = has_sources}; }
  // Returns the source of the bytes [begin, end); begin < end. {0, 0} if sources are not kept.
  Source source(std::size_t begin, std::size_t end) const {
    return has_sources ? Source{sources[begin].first, sources[end - 1].second} : Source{0, 0};
  }
  // Returns the empty source range before byte `at`. {0, 0} if sources are not kept.
  Source place_before(std::size_t at) const {
    return at < sources.size() ? Source{sources[at].first, sources[at].first} : Source{0, 0};
  }
  void append(std::string_view bytes, Source from) {
    text += bytes;
    if (has_sources) sources.resize(text.size(), from);
  }
  // Appends the bytes [begin, end) of `other`, with their sources.
  void append(const MappedText& other, std::size_t begin, std::size_t end);
};

}  // namespace smelt::text
