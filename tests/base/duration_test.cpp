#include "base/duration.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "support/error_of.h"

namespace smelt {
namespace {

TEST(Duration, ParsesSecondsMinutesHoursDaysAndTheirSums) {
  for (const auto& [text, seconds] :
       {std::pair{"90s", 90}, std::pair{"90", 90}, std::pair{"30m", 1800}, std::pair{"6h", 21600},
        std::pair{"2d", 172800}, std::pair{"1d12h", 129600}, std::pair{"1h30m5s", 5405}})
    EXPECT_EQ(parse_duration("--x", text).count(), seconds) << text;
}

TEST(Duration, RejectsInvalidDurations) {
  for (const char* text : {"", "0", "-1s", "6 h", "h", "1h1d", "400d", "1.5h", "99999999999"})
    EXPECT_THAT(error_of<UsageError>([&] { parse_duration("--x", text); }),
                testing::StartsWith("--x: '"))
        << text;
}

}  // namespace
}  // namespace smelt
