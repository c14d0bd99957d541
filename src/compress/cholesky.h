// Cholesky decomposition and inverse of triangular matrices.
//   n rows and columns
#pragma once

#include <cstddef>
#include <vector>

namespace smelt::compress {

// Computes to[i] -= factor * from[i] for n values; the ranges must not overlap.
void subtract_scaled(double* to, const double* from, double factor, std::size_t n);

// Computes the Cholesky factor L of a symmetric matrix [n,n] in place (L L' is the matrix). Reads
// and writes only the lower triangle. Returns false if the matrix is not positive definite. The
// result does not depend on `threads`.
bool cholesky(std::vector<double>& a, std::size_t n, int threads);

// Inverts a lower triangular matrix in place; the upper part becomes 0.
void invert_lower(std::vector<double>& l, std::size_t n, int threads);

}  // namespace smelt::compress
