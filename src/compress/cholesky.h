// Triangles of symmetric matrices.
//   n rows and columns
#pragma once

#include <cstddef>
#include <vector>

namespace smelt {

// to[i] -= factor * from[i] of n numbers, which do not overlap.
void subtract_scaled(double* to, const double* from, double factor, std::size_t n);

// In place, of a symmetric matrix [n,n] of which the lower triangle is read: the lower triangle L
// with L L' the matrix, above which the rest stays. Returns whether there is one. `threads` share
// the rows, which changes no bit.
bool cholesky(std::vector<double>& a, std::size_t n, int threads);

// In place, of a lower triangle: its inverse's, with zeros above. `threads` share the columns.
void invert_lower(std::vector<double>& l, std::size_t n, int threads);

}  // namespace smelt
