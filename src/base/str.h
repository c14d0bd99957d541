// Text helpers: str(a, b, c) prints its arguments one after another; split, trim, join and others.
#pragma once

#include <concepts>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace smelt {

namespace internal {

// Types that only operator<< can print.
template <class T>
concept OnlyStreamable =
    !std::is_arithmetic_v<T> && !std::convertible_to<const T&, std::string_view> &&
    !std::is_function_v<T> && !requires(const T& value) { value._M_n; } &&
    !requires(const T& value) { value._M_c; } &&  // excludes manipulators, which have no effect
    requires(std::ostream& out, const T& value) { out << value; };

template <class T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace internal

// One argument of str(), as text. Valid only during the call, because it may refer to a temporary.
class StrPart {
 public:
  StrPart(std::string_view text) : text_(text) {}
  StrPart(const std::string& text) : text_(text) {}
  StrPart(const char* text) : text_(text) {}
  StrPart(char c) : text_(buffer_, 1) { buffer_[0] = c; }
  StrPart(unsigned char c) : StrPart(static_cast<char>(c)) {}
  StrPart(signed char c) : StrPart(static_cast<char>(c)) {}
  StrPart(bool value) : StrPart(value ? '1' : '0') {}
  StrPart(short value) : StrPart(static_cast<long long>(value)) {}
  StrPart(int value) : StrPart(static_cast<long long>(value)) {}
  StrPart(long value) : StrPart(static_cast<long long>(value)) {}
  StrPart(long long value);
  StrPart(unsigned short value) : StrPart(static_cast<unsigned long long>(value)) {}
  StrPart(unsigned value) : StrPart(static_cast<unsigned long long>(value)) {}
  StrPart(unsigned long value) : StrPart(static_cast<unsigned long long>(value)) {}
  StrPart(unsigned long long value);
  StrPart(float value) : StrPart(static_cast<double>(value)) {}
  StrPart(double value);  // six significant digits, as "%g" prints it
  template <internal::OnlyStreamable T>
  StrPart(const T& value, std::string&& storage = {})
      : text_(storage = internal::streamed(value)) {}
  StrPart(const StrPart&) = delete;
  StrPart& operator=(const StrPart&) = delete;

  std::string_view text() const { return text_; }

 private:
  char buffer_[24];
  std::string_view text_;
};

namespace internal {
std::string concatenated(std::initializer_list<const StrPart*> parts);
}

// Returns the arguments concatenated. These are overloads instead of a variadic template, which
// thousands of calls would instantiate separately.
std::string str();
std::string str(const StrPart& a);
std::string str(const StrPart& a, const StrPart& b);
std::string str(const StrPart& a, const StrPart& b, const StrPart& c);
std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d);
std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d,
                const StrPart& e);
std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d,
                const StrPart& e, const StrPart& f);
std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d,
                const StrPart& e, const StrPart& f, const StrPart& g);
template <class... More>
std::string str(const StrPart& a, const StrPart& b, const StrPart& c, const StrPart& d,
                const StrPart& e, const StrPart& f, const StrPart& g, const More&... more) {
  return str(str(a, b, c, d, e, f, g), more...);
}

// Splits text at a separator: "a,b,,c" by ',' -> {"a", "b", "", "c"}. Empty text gives one empty
// piece.
std::vector<std::string_view> split(std::string_view text, char separator);

// Returns the text without ASCII white space at both ends.
std::string_view trim(std::string_view text);

std::string first_line(std::string_view text);  // without the line feed

// Converts ASCII letters to lower case.
std::string lower_case(std::string_view text);

template <class Range>
std::string join(const Range& items, std::string_view separator) {
  std::string out;
  std::string_view between;
  for (const auto& item : items) {
    out.append(between).append(StrPart(item).text());
    between = separator;
  }
  return out;
}

}  // namespace smelt
