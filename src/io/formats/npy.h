// NumPy's file format of arrays, version 1.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include <cstddef>
#include <string>

namespace smelt::io {

// Returns the header of a file with a float32 matrix in row-major order. Its length, a multiple of
// 64 bytes, does not depend on the sizes.
std::string npy_header(std::size_t rows, std::size_t columns);

}  // namespace smelt::io
