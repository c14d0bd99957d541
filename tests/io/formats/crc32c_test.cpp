#include "io/formats/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace smelt::io {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32c, MatchesTheExamplesOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string up, down;
  for (int i = 0; i < 32; ++i) {
    up.push_back(static_cast<char>(i));
    down.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(crc32c(up), 0x46DD794Eu);
  EXPECT_EQ(crc32c(down), 0x113FDB5Cu);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, ExtendsOverSeveralParts) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text)) << cut;
}

TEST(Crc32c, UnmaskUndoesMask) {
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    const std::uint32_t crc = (1u << bit) ^ 0x8A9136AAu;
    EXPECT_EQ(unmask_crc(mask_crc(crc)), crc);
    EXPECT_NE(mask_crc(crc), crc);
  }
}

}  // namespace
}  // namespace smelt::io
