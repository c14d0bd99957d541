#include "compress/cholesky.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/parallel.h"

namespace smelt::compress {
namespace {

constexpr std::size_t kSideBySide = 8;  // accumulators for SIMD

double dot(const double* a, const double* b, std::size_t n) {
  std::array<double, kSideBySide> sums{};
  std::size_t i = 0;
  for (; i + kSideBySide <= n; i += kSideBySide)
    for (std::size_t k = 0; k < kSideBySide; ++k) sums[k] += a[i + k] * b[i + k];
  double out = 0;
  for (; i < n; ++i) out += a[i] * b[i];
  for (const double sum : sums) out += sum;
  return out;
}

}  // namespace

void subtract_scaled(double* __restrict to, const double* __restrict from, double factor,
                     std::size_t n) {
  std::size_t i = 0;
  for (; i + kSideBySide <= n; i += kSideBySide)
    for (std::size_t k = 0; k < kSideBySide; ++k) to[i + k] -= factor * from[i + k];
  for (; i < n; ++i) to[i] -= factor * from[i];
}

bool cholesky(std::vector<double>& a, std::size_t n, int threads) {
  constexpr std::size_t kColumns = 64;  // columns per block, whose rows stay in a core's cache
  const auto below = [&](std::size_t i, std::size_t j) {
    return (a[i * n + j] - dot(&a[i * n], &a[j * n], j)) / a[j * n + j];
  };
  for (std::size_t first = 0; first < n; first += kColumns) {
    const std::size_t end = std::min(first + kColumns, n);
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t j = first; j < i; ++j) a[i * n + j] = below(i, j);
      const double left = a[i * n + i] - dot(&a[i * n], &a[i * n], i);
      if (!(left > 0)) return false;
      a[i * n + i] = std::sqrt(left);
    }
    run_each((n - end + kColumns - 1) / kColumns, threads, [&](std::size_t part) {
      const std::size_t from = end + part * kColumns;
      for (std::size_t i = from; i < std::min(from + kColumns, n); ++i)
        for (std::size_t j = first; j < end; ++j) a[i * n + j] = below(i, j);
    });
  }
  return true;
}

void invert_lower(std::vector<double>& l, std::size_t n, int threads) {
  constexpr std::size_t kColumns = 256;  // columns per thread; columns are independent
  std::vector<double> out(n * n);
  run_each((n + kColumns - 1) / kColumns, threads, [&](std::size_t part) {
    const std::size_t first = part * kColumns, end = std::min(first + kColumns, n);
    for (std::size_t i = first; i < n; ++i) {
      double* row = &out[i * n];
      if (i < end) row[i] = 1;
      for (std::size_t k = first; k < i; ++k) {
        const std::size_t known = std::min(end, k + 1) - first;
        subtract_scaled(row + first, &out[k * n + first], l[i * n + k], known);
      }
      const double own = l[i * n + i];
      for (std::size_t j = first; j < end; ++j) row[j] /= own;
    }
  });
  l = std::move(out);
}

}  // namespace smelt::compress
