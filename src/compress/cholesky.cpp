#include "compress/cholesky.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace smelt {
namespace {

// In sums of every eighth product, which a core adds up side by side.
double dot(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  double out = 0;
  for (; i < n; ++i) out += a[i] * b[i];
  for (const double sum : sums) out += sum;
  return out;
}

}  // namespace

bool cholesky(std::vector<double>& a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double left = a[i * n + j] - dot(&a[i * n], &a[j * n], j);
      if (i != j)
        a[i * n + j] = left / a[j * n + j];
      else if (left > 0)
        a[i * n + i] = std::sqrt(left);
      else
        return false;
    }
  return true;
}

void invert_lower(std::vector<double>& l, std::size_t n) {
  std::vector<double> row(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    row[i] = 1;
    for (std::size_t k = 0; k < i; ++k) {  // rows above are the inverse's already
      const double factor = l[i * n + k];
      for (std::size_t j = 0; j <= k; ++j) row[j] -= factor * l[k * n + j];
    }
    const double own = l[i * n + i];
    for (std::size_t j = 0; j < n; ++j) l[i * n + j] = row[j] / own;
  }
}

}  // namespace smelt
