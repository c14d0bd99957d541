// JSON results, exit codes and the texts of inference commands.
#include "cli/options/json_output.h"

#include <gmock/gmock.h>

#include <set>

#include "base/events.h"
#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/options/ending.h"
#include "cli/options/text_source.h"
#include "distributed/coordination_service.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;

struct Printed {
  std::string out, err;
};

Printed printed(const std::function<void()>& work) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  work();
  return {testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

OrderedJson work_with_text() {
  std::cout << "for people\n";
  return {{"path", "a\xff"}};
}

TEST(JsonOutput, IsOneLineAndOtherTextGoesToStandardError) {
  const Printed json = printed([] { print_result(true, work_with_text); });
  EXPECT_EQ(json.out, "{\"path\":\"a\uFFFD\"}\n");
  EXPECT_EQ(json.err, "for people\n");
  const LogLevel before = log_level();
  set_log_level(LogLevel::warning);
  EXPECT_EQ(printed([] { print_result(true, work_with_text); }).err, "");
  set_log_level(before);
  const Printed text = printed([] { print_result(false, work_with_text); });
  EXPECT_EQ(text.out, "for people\n");
}

TEST(JsonOutput, HasOneLinePerEventThenTheResult) {
  const Printed found = printed([] {
    print_events(true, [] {
      send_event("stage", {{"stage", "text"}});
      return OrderedJson{{"out", "a"}};
    });
  });
  std::vector<OrderedJson> lines;
  for (const std::string_view line : split(trim(found.out), '\n'))
    lines.push_back(OrderedJson::parse_or_discard(line));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("event"), "stage");
  EXPECT_EQ(lines[1].at("event"), "result");
  EXPECT_EQ(lines[1].at("out"), "a");
}

TEST(JsonOutput, EndsWithTheErrorAndItsExitCode) {
  std::string thrown;
  const Printed found = printed([&] {
    thrown = error_of<UsageError>([] {
      print_events(true, []() -> OrderedJson { throw UsageError("train.steps is 0", "take 10"); });
    });
  });
  EXPECT_THAT(thrown, HasSubstr("train.steps is 0"));
  const auto event = OrderedJson::parse_or_discard(found.out);
  EXPECT_EQ(event.at("event"), "error");
  EXPECT_EQ(event.at("exit"), kUsageExit);
  EXPECT_EQ(event.at("kind"), "usage");
  EXPECT_EQ(event.at("message"), "train.steps is 0");
  EXPECT_EQ(event.at("hint"), "take 10");
}

TEST(JsonOutput, IsPrintedByOnlyOneProcess) {
  const Printed found = printed([] {
    print_events(true, [] {
      const ErrorsOnly only("host 2");
      send_event("stage");
      return OrderedJson{{"out", "a"}};
    });
  });
  EXPECT_THAT(found.out, testing::Not(HasSubstr("stage")));
}

template <class Kind>
int code_of(const Kind& error) {
  return ending_of(std::make_exception_ptr(error)).code;
}

TEST(ExitCodes, EachErrorTypeHasItsOwnCode) {
  EXPECT_EQ(code_of(SystemError("a")), kSystemExit);
  EXPECT_EQ(code_of(UsageError("a")), kUsageExit);
  EXPECT_EQ(code_of(BelowThreshold("a")), kBelowThresholdExit);
  EXPECT_EQ(code_of(distributed::LostPeer("a")), kPodExit);
  EXPECT_EQ(code_of(BugError("a")), kBugExit);
  EXPECT_EQ(code_of(Stopped("a")), kStoppedExit);
  EXPECT_EQ(code_of(std::bad_alloc()), kSystemExit);
  EXPECT_EQ(exit_name(kUsageExit), "usage");
  EXPECT_EQ(exit_name(137), "signal");
}

TEST(ExitCodes, AreDistinctAndMatchTheDocumentation) {
  const std::string page = io::read_file(source_path("docs/reference/exit_codes.md"));
  std::set<int> codes;
  for (const ExitCode& row : kExitCodes) {
    EXPECT_TRUE(codes.insert(row.code).second) << row.code;
    EXPECT_THAT(page,
                HasSubstr(str("| ", row.code, " | `", row.name, "` | ", row.meaning, " |\n")));
  }
}

class TextSources : public testing::Test {
 protected:
  static std::vector<std::vector<std::string>> batches(const TextSource& source) {
    std::vector<std::vector<std::string>> out;
    each_batch(source, "fill", [&](const auto& texts) { out.push_back(texts); });
    return out;
  }
  TempDir dir_;
};

TEST_F(TextSources, ReadFlagsOrLinesOrRowsOfAFile) {
  using All = std::vector<std::vector<std::string>>;
  EXPECT_EQ(batches({.texts = {"a", "b"}, .file = {}}), (All{{"a", "b"}}));
  io::write_file(dir_.file("t.txt"), "one\r\n\ntwo\n");
  EXPECT_EQ(batches({.texts = {}, .file = {.path = dir_.file("t.txt")}}),
            (All{{"one", "", "two"}}));
  io::write_file(dir_.file("t.jsonl"), "{\"t\": \"one\"}\n{\"t\": \"two\"}\n");
  EXPECT_EQ(batches({.texts = {}, .file = {.path = dir_.file("t.jsonl"), .field = "t"}}),
            (All{{"one", "two"}}));
  EXPECT_THAT(
      error_of<UsageError>(
          [&] { batches({.texts = {"a"}, .file = {.path = dir_.file("t.txt")}}); }),
      HasSubstr("fill: --text and --input cannot be combined\n  hint: remove one of the two"));
}

TEST_F(TextSources, RejectAFileThatIsNotUtf8AndWarnAboutAnEmptyOne) {
  std::string latin1;
  for (int i = 0; i < 30; ++i) latin1 += "caf\xE9\n";
  io::write_file(dir_.file("latin1.txt"), latin1);
  io::write_file(dir_.file("empty.txt"), "");
  EXPECT_THAT(error_of<UsageError>(
                  [&] { batches({.texts = {}, .file = {.path = dir_.file("latin1.txt")}}); }),
              HasSubstr("latin1.txt:20: the file is not UTF-8"));
  const CapturedLog log;
  EXPECT_TRUE(batches({.texts = {}, .file = {.path = dir_.file("empty.txt")}}).empty());
  EXPECT_THAT(log.text(), HasSubstr("empty.txt holds no text"));
}

TEST_F(TextSources, AnswerEachLineOfStandardInputBeforeReadingMore) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int before = ::dup(STDIN_FILENO);
  ASSERT_GE(::dup2(ends[0], STDIN_FILENO), 0);
  ::close(ends[0]);
  const auto write = [&](std::string_view text) {
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), std::ssize(text));
  };
  std::vector<std::vector<std::string>> out;
  const CapturedLog log;
  write("one\r\ntw\xE9o\nthr");
  each_batch({}, "fill", [&](const auto& texts) {
    if (out.empty()) {  // writes the rest only after the first batch
      write("ee\nfour");
      ::close(ends[1]);
    }
    out.push_back(texts);
  });
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  EXPECT_EQ(out, (std::vector<std::vector<std::string>>{{"one", "two"}, {"three", "four"}}));
  EXPECT_THAT(log.text(), HasSubstr("1 byte that is not UTF-8 was left out, the first in standard "
                                    "input:2"));
}

TEST_F(TextSources, ReadALongFileInBatches) {
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += str(i, "\n");
  io::write_file(dir_.file("t.txt"), lines);
  const auto found = batches({.texts = {}, .file = {.path = dir_.file("t.txt")}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].size(), 256U);
  EXPECT_EQ(found[2].back(), "599");
}

}  // namespace
}  // namespace smelt::cli
