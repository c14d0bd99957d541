#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <iostream>

#include "base/decimal.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nearest_name.h"
#include "base/number_format.h"
#include "base/philox.h"
#include "base/plural.h"
#include "base/progress.h"
#include "support/stderr_terminal.h"

namespace smelt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::array<std::uint32_t, 4>;

// Known answers of the Random123 library (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, MatchesTheRandom123KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox(ones, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(NearestName, SuggestsTheNearestNameOrNone) {
  const std::vector<std::string> known{"--input", "--output", "--vocab"};
  EXPECT_EQ(nearest_name("--inptu", known), "--input");
  EXPECT_EQ(nearest_name("--ouput", known), "--output");
  EXPECT_EQ(nearest_name("--learning-rate", known), std::nullopt);
  const std::vector<std::string> commands{"run", "fill"};
  EXPECT_EQ(nearest_name("rm", commands), std::nullopt);
  EXPECT_EQ(nearest_name("un", commands), "run");
  EXPECT_EQ(nearest_name("rnu", commands), "run");  // a swap of neighbours is one edit
  EXPECT_EQ(did_you_mean("--vocb", known), "did you mean '--vocab'?");
  EXPECT_EQ(did_you_mean("--learning-rate", known), "known: --input, --output, --vocab");
}

TEST(WholeNumbers, ParsesSignsUnderscoresAndExponents) {
  EXPECT_EQ(parse_whole_number("1000"), 1000);
  EXPECT_EQ(parse_whole_number("+5"), 5);
  EXPECT_EQ(parse_whole_number("010"), 10);
  EXPECT_EQ(parse_whole_number("-7"), -7);
  EXPECT_EQ(parse_whole_number("1_000_000"), 1000000);
  EXPECT_EQ(parse_whole_number("1e6"), 1000000);
  EXPECT_EQ(parse_whole_number("2.5E3"), 2500);
  EXPECT_EQ(parse_whole_number("9223372036854775807"), 9223372036854775807);
  for (const char* other : {"", "1.5", "1.0", "1e-3", "1.23e1", "1e400", "1__0", "_1", "1_", "ten",
                            "1e6x", "1e17", "nan", "+", "++1", "+-5"})
    EXPECT_EQ(parse_whole_number(other), std::nullopt) << other;
}

TEST(TableText, PadsColumnsToTheirWidestCell) {
  EXPECT_EQ(table_text({{"a", "b"}, {"long", ""}, {"x", "y"}}), "a     b\nlong\nx     y\n");
}

TEST(Words, UsesThePluralForCountsOtherThanOne) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0u, "step"), "0 steps");
  EXPECT_EQ(counted(std::uint64_t{1}, "batch", "batches"), "1 batch");
  EXPECT_EQ(counted(2, "batch", "batches"), "2 batches");
}

TEST(Words, ShortensTextBetweenUtf8Characters) {
  EXPECT_EQ(characters("aé…"), 3u);
  EXPECT_EQ(shortened("aé…", 3), "aé…");
  EXPECT_EQ(shortened("aéıo", 3), "aé…");
  EXPECT_EQ(shortened("a éıo", 3), "a…");
}

TEST(Progress, FormatsDurationsAsClockTime) {
  EXPECT_EQ(duration_text(0.4), "0:00");
  EXPECT_EQ(duration_text(65), "1:05");
  EXPECT_EQ(duration_text(3723), "1:02:03");
}

TEST(Progress, FormatsBytesInDecimalUnits) {
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1500), "1.5 kB");
  EXPECT_EQ(bytes_text(20e9), "20.0 GB");
  EXPECT_EQ(bytes_text(3e18), "3000.0 PB");
}

TEST(Progress, ShowsABarWithRateAndTimeLeftOnATerminal) {
  const StderrTerminal terminal;
  {
    Progress steps("train", 4, "steps", 1);
    steps.update(2, "loss 1.5");
    steps.line("saved");
  }
  {
    Progress bytes("reading", 2'000'000, Progress::kBytes);
    bytes.update(2'000'000);
  }
  EXPECT_THAT(terminal.text(),
              AllOf(HasSubstr("train [=====     ] 2/4 steps (50.0 %), "), HasSubstr(" steps/s, 0:"),
                    HasSubstr(" left, loss 1.5"), HasSubstr("saved\r\n"),
                    HasSubstr("2.0 MB/2.0 MB (100.0 %), "), HasSubstr("B/s, 0:00 left")));
}

TEST(Progress, FitsTheCurrentWidthOfTheTerminal) {
  const StderrTerminal terminal(80);
  const std::string detail = "loss 1.500, masked_lm_accuracy 0.250, next_sentence_accuracy 0.500";
  const auto drawn = [&](unsigned short columns) {
    (void)terminal.text();
    terminal.resize(columns);
    Progress fresh("train", 1000, "steps", 999);
    fresh.update(1000, detail);
    const std::string text = terminal.text();
    return text.substr(text.find("\033[K") + 3);
  };
  EXPECT_THAT(drawn(250), HasSubstr("left, " + detail));
  EXPECT_THAT(drawn(80),
              testing::MatchesRegex("train .==========. 1000/1000 steps .100.0 %., 0:00 left, "
                                    "loss 1.500"));
  EXPECT_EQ(drawn(50), "train 1000/1000 steps (100.0 %), 0:00 left");
  EXPECT_EQ(drawn(30), "train (100.0 %), 0:00 left");
  EXPECT_EQ(drawn(12), "train (100…");
}

TEST(Progress, IsRedrawnAfterALogMessage) {
  const auto before = spdlog::default_logger();
  {
    const StderrTerminal terminal(80);
    set_up_log();
    Progress steps("train", 4, "steps", 1);
    steps.update(2);
    const std::string bar = terminal.text();
    log_warning("the disk is nearly full");
    const std::string text = terminal.text();
    EXPECT_THAT(text, testing::StartsWith("\r\033[K"));
    EXPECT_THAT(text, HasSubstr("the disk is nearly full"));
    EXPECT_THAT(text, testing::EndsWith("\r\n" + bar));
  }
  spdlog::set_default_logger(before);
}

TEST(Log, PrintsTheLevelOfWarningsAndErrorsWithoutColors) {
  const auto before = spdlog::default_logger();
  testing::internal::CaptureStderr();
  set_up_log();
  log_warning("a");
  log_info("b");
  log_error("c");
  const std::string text = testing::internal::GetCapturedStderr();
  spdlog::set_default_logger(before);
  EXPECT_THAT(text, testing::MatchesRegex("..:..:.. warning: a\n..:..:.. b\n..:..:.. error: c\n"));
}

TEST(Log, OtherProcessesLogOnlyErrorsWithTheirName) {
  const auto before = spdlog::default_logger();
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  set_up_log();
  {
    const ErrorsOnly only("host 2");
    log_warning("a");
    log_error("b");
    std::cout << "c" << std::flush;
    Progress steps("train", 4, "steps", 1);
    steps.line("d");
  }
  log_info("e");
  std::cout << "f" << std::flush;
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "f");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("..:..:.. error: host 2: b\n..:..:.. e\n"));
  {
    const StderrTerminal terminal(80);
    set_up_log();
    const ErrorsOnly only("host 2");
    log_error("b");
    EXPECT_THAT(terminal.text(), HasSubstr("host 2: b"));
  }
  spdlog::set_default_logger(before);
}

TEST(Error, PrintsTheMessageThenTheHintAndMapsErrnoToErrorTypes) {
  EXPECT_STREQ(UsageError("a: b", "c").what(), "a: b\n  hint: c");
  EXPECT_STREQ(SystemError("a: b").what(), "a: b");
  EXPECT_THROW(CHECK(1 + 1 == 3, "sums"), BugError);
  EXPECT_THROW(throw_errno("open", "x", ENOENT), UsageError);
  EXPECT_THROW(throw_errno("write", "x", ENOSPC), SystemError);
  EXPECT_THROW(throw_errno("write", "x", EROFS), UsageError);
}

}  // namespace
}  // namespace smelt
