#include "compress/gptq.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "compress/cholesky.h"

namespace smelt::compress {
namespace {

constexpr double kDamp = 0.01;
constexpr std::size_t kBlock = 128;  // columns per block; later columns are updated once per block
constexpr std::size_t kRows = 32;  // rows that are rounded together, to reuse a row of the triangle

// Quantizes a few rows of weights.
class Rounding {
 public:
  Rounding(std::span<const float> weights, std::size_t columns, std::size_t group,
           std::span<const double> triangle)
      : w_(weights.begin(), weights.end()),
        columns_(columns),
        rows_(weights.size() / columns),
        group_(group),
        u_(triangle),
        errors_(kBlock * rows_) {}

  void run(const std::vector<bool>& dead, std::int8_t* codes, float* scales) {
    for (std::size_t r = 0; r < rows_; ++r)
      for (std::size_t c = 0; c < columns_; ++c)
        if (dead[c]) w_[r * columns_ + c] = 0;
    for (std::size_t begin = 0; begin < columns_; begin += kBlock) {
      const std::size_t end = std::min(begin + kBlock, columns_);
      for (std::size_t c = begin; c < end; ++c)
        for (std::size_t r = 0; r < rows_; ++r) round_one(r, c, begin, end, codes, scales);
      for (std::size_t c = begin; c < end; ++c)
        for (std::size_t r = 0; r < rows_; ++r)
          move(r, errors_[(c - begin) * rows_ + r], c, end, columns_);
    }
  }

 private:
  void round_one(std::size_t r, std::size_t c, std::size_t begin, std::size_t end,
                 std::int8_t* codes, float* scales) {
    double* row = &w_[r * columns_];
    float& scale = scales[(r * columns_ + c) / group_];
    if (c % group_ == 0) scale = scale_of(row + c);
    const std::int8_t code = io::int4_code(static_cast<float>(row[c]), scale);
    codes[r * columns_ + c] = code;
    const double restored = static_cast<double>(static_cast<float>(code) * scale);
    const double error = (row[c] - restored) / u_[c * columns_ + c];
    errors_[(c - begin) * rows_ + r] = error;
    move(r, error, c, c + 1, end);
  }
  float scale_of(const double* first) const {
    double most = 0;
    for (std::size_t i = 0; i < group_; ++i) most = std::max(most, std::abs(first[i]));
    return io::int4_scale(static_cast<float>(most));
  }
  // Distributes the rounding error of column c over later columns of the row.
  void move(std::size_t r, double error, std::size_t c, std::size_t from, std::size_t to) {
    const double* u = &u_[c * columns_];
    subtract_scaled(&w_[r * columns_ + from], u + from, error, to - from);
  }

  std::vector<double> w_;
  std::size_t columns_, rows_, group_;
  std::span<const double> u_;
  std::vector<double> errors_;  // of the block's columns, [kBlock, rows]
};

// Reverses the order of rows and columns.
void reverse(std::vector<double>& a) { std::ranges::reverse(a); }

}  // namespace

void gptq_triangle(std::vector<double>& sums, std::size_t columns, int threads) {
  CHECK(sums.size() == columns * columns, sums.size());
  double mean = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    double& own = sums[i * columns + i];
    if (own == 0) own = 1;
    mean += own / static_cast<double>(columns);
  }
  for (std::size_t i = 0; i < columns; ++i) sums[i * columns + i] += kDamp * mean;
  // With J the reversal, J H J = L L' gives H = (J L J)(J L J)', whose first factor is upper
  // triangular; its inverse is U.
  reverse(sums);
  CHECK(cholesky(sums, columns, threads), "the damped Hessian is not positive definite");
  invert_lower(sums, columns, threads);
  reverse(sums);
}

io::Int4Groups gptq_groups(std::span<const float> weights, std::size_t rows, std::size_t group,
                           std::span<const double> triangle, const std::vector<bool>& dead,
                           int threads) {
  const std::size_t columns = weights.size() / rows;
  CHECK(triangle.size() == columns * columns && dead.size() == columns && columns % group == 0,
        rows, " rows of ", columns, " columns in groups of ", group);
  std::vector<std::int8_t> codes(weights.size());
  std::vector<float> scales(weights.size() / group);
  run_each((rows + kRows - 1) / kRows, threads, [&](std::size_t part) {
    const std::size_t first = part * kRows, count = std::min(kRows, rows - first);
    Rounding(weights.subspan(first * columns, count * columns), columns, group, triangle)
        .run(dead, &codes[first * columns], &scales[first * columns / group]);
  });
  return {.words = io::packed_int4(codes), .scales = std::move(scales)};
}

}  // namespace smelt::compress
