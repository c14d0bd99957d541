// Triangles of symmetric matrices.
//   n rows and columns
#pragma once

#include <cstddef>
#include <vector>

namespace smelt {

// In place, of a symmetric matrix [n,n] of which the lower triangle is read: the lower triangle L
// with L L' the matrix, above which the rest stays. Returns whether there is one.
bool cholesky(std::vector<double>& a, std::size_t n);

// In place, of a lower triangle: its inverse's, with zeros above.
void invert_lower(std::vector<double>& l, std::size_t n);

}  // namespace smelt
