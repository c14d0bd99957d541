#include "io/formats/npy.h"

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace smelt::io {

std::string npy_header(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kBytes = 128, kBefore = 10;  // magic, version and the length of the text
  using std::string_view_literals::operator""sv;
  std::string text =
      str("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ", columns, "), }");
  text.resize(kBytes - kBefore - 1, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00"sv);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace smelt::io
