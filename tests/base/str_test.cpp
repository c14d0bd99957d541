// str() returns the text that operator<< would write to a std::ostream.
#include "base/str.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <limits>

namespace smelt {
namespace {

enum Plain { kOne = 1 };

template <class... Args>
std::string printed(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

TEST(Str, PrintsEachTypeLikeAnOstream) {
  const std::string text = "text";
  const char* literal = "pointer";
  EXPECT_EQ(str(), "");
  EXPECT_EQ(str(text, literal, "array", std::string_view("view"), 'c', true, false),
            printed(text, literal, "array", std::string_view("view"), 'c', true, false));
  EXPECT_EQ(str(std::numeric_limits<std::int64_t>::min(), " ",
                std::numeric_limits<std::uint64_t>::max(), " ", std::int8_t{65}, std::uint8_t{66},
                std::int16_t{-7}, std::uint16_t{7}, " ", -1, " ", 1U),
            printed(std::numeric_limits<std::int64_t>::min(), " ",
                    std::numeric_limits<std::uint64_t>::max(), " ", std::int8_t{65},
                    std::uint8_t{66}, std::int16_t{-7}, std::uint16_t{7}, " ", -1, " ", 1U));
  for (const double value : {0.0, -0.0, 1.0, 0.1, 1e6, 123456.0, 1234567.0, 1e-5, 1.0 / 3, -2.5e300,
                             std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(str(value), printed(value));
    EXPECT_EQ(str(static_cast<float>(value)), printed(static_cast<float>(value)));
  }
  EXPECT_EQ(str(kOne), printed(kOne));
  EXPECT_EQ(str(std::filesystem::path("a b")), printed(std::filesystem::path("a b")));
}

TEST(Str, TakesAnyNumberOfArguments) {
  EXPECT_EQ(str(1, 2, 3, 4, 5, 6, 7, 8), "12345678");
  EXPECT_EQ(str(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), "12345678910111213141516");
}

TEST(Str, JoinsAnyRange) {
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  EXPECT_EQ(join(std::vector<double>{0.5}, ", "), "0.5");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

}  // namespace
}  // namespace smelt
