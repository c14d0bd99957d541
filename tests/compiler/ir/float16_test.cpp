#include "compiler/ir/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace smelt::compiler {
namespace {

// Checks all neighbouring values of the format: a value between two of them rounds to the nearer
// one, and the middle rounds to even.
template <class ToFloat, class FromDouble>
void check_all(std::uint16_t infinity, ToFloat to_float, FromDouble from_double) {
  for (std::uint16_t bits = 0; bits < infinity; ++bits) {
    const double low = to_float(bits);
    EXPECT_EQ(from_double(low), bits);
    EXPECT_EQ(from_double(-low), bits | 0x8000);
    if (bits + 1 == infinity) break;
    const double high = to_float(bits + 1), middle = (low + high) / 2;
    EXPECT_EQ(from_double(middle), bits + (bits & 1));
    EXPECT_EQ(from_double(std::nextafter(middle, low)), bits);
    EXPECT_EQ(from_double(std::nextafter(middle, high)), bits + 1);
  }
  EXPECT_EQ(from_double(INFINITY), infinity);
  EXPECT_EQ(from_double(1e300), infinity);
  EXPECT_EQ(from_double(-1e300), infinity | 0x8000);
  EXPECT_TRUE(std::isnan(to_float(from_double(NAN))));
  EXPECT_TRUE(std::isinf(to_float(infinity)));
}

TEST(Float16, Bf16RoundsToTheNearestEven) { check_all(0x7F80, bf16_to_float, bf16_from_double); }
TEST(Float16, HalfRoundsToTheNearestEven) { check_all(0x7C00, f16_to_float, f16_from_double); }

TEST(Float16, ConvertsKnownValues) {
  EXPECT_EQ(bf16_from_double(1), 0x3F80);
  EXPECT_EQ(f16_from_double(1), 0x3C00);
  EXPECT_EQ(f16_from_double(65504), 0x7BFF);
  EXPECT_EQ(f16_from_double(65519.9), 0x7BFF);
  EXPECT_EQ(f16_from_double(65520), 0x7C00);
  EXPECT_EQ(f16_to_float(1), 0x1p-24f);
}

}  // namespace
}  // namespace smelt::compiler
