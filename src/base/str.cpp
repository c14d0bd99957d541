#include "base/str.h"

#include <charconv>
#include <cstdio>

namespace smelt {

StrPart::StrPart(long long value)
    : text_(buffer_, static_cast<std::size_t>(
                         std::to_chars(buffer_, buffer_ + sizeof(buffer_), value).ptr - buffer_)) {}

StrPart::StrPart(unsigned long long value)
    : text_(buffer_, static_cast<std::size_t>(
                         std::to_chars(buffer_, buffer_ + sizeof(buffer_), value).ptr - buffer_)) {}

StrPart::StrPart(double value)
    : text_(buffer_,
            static_cast<std::size_t>(std::snprintf(buffer_, sizeof(buffer_), "%g", value))) {}

std::string internal::concatenated(std::initializer_list<const StrPart*> parts) {
  std::size_t size = 0;
  for (const StrPart* part : parts) size += part->text().size();
  std::string out;
  out.reserve(size);
  for (const StrPart* part : parts) out.append(part->text());
  return out;
}

std::string str() { return {}; }

std::string str(const StrPart& a) { return std::string(a.text()); }

std::string str(const StrPart& a, const StrPart& b) { return internal::concatenated({&a, &b}); }

std::string str(const StrPart& a, const StrPart& b, const StrPart& c) {
  return internal::concatenated({&a, &b, &c});
}

std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d) {
  return internal::concatenated({&a, &b, &c, &d});
}

std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d,
                const StrPart& e) {
  return internal::concatenated({&a, &b, &c, &d, &e});
}

std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d,
                const StrPart& e, const StrPart& f) {
  return internal::concatenated({&a, &b, &c, &d, &e, &f});
}

std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d,
                const StrPart& e, const StrPart& f, const StrPart& g) {
  return internal::concatenated({&a, &b, &c, &d, &e, &f, &g});
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const auto end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace smelt
