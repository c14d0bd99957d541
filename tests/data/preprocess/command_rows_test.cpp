// Rows printed by a command: stored unchanged, or an error with the command's output.
#include "data/preprocess/command_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::HasSubstr;

class CommandRows : public testing::Test {
 protected:
  CommandRowsJob job(const std::string& command) const {
    return {.command = command, .what = "data.train", .output = dir_.file("rows.jsonl")};
  }
  std::string refusal(const CommandRowsJob& job) const {
    const std::string said = error_of<UsageError>([&] { write_command_rows(job); });
    EXPECT_TRUE(io::list_folder(dir_.file("")).empty()) << said;
    return said;
  }

  TempDir dir_;
};

TEST_F(CommandRows, StoresRowsUnchanged) {
  // NaN in an unused field is accepted; the last line needs no line break.
  EXPECT_EQ(write_command_rows(job("echo '{\"a\": NaN}'; echo; printf '{\"a\": \"é\"}'")), 2u);
  EXPECT_EQ(io::read_file(dir_.file("rows.jsonl")), "{\"a\": NaN}\n\n{\"a\": \"é\"}\n");
}

TEST_F(CommandRows, ErrorsIncludeTheCommandsStandardError) {
  EXPECT_THAT(refusal(job("echo '{}'; echo no such table >&2; exit 3")),
              HasSubstr("data.train: 'echo '{}'; echo no such table >&2; exit 3' ended with status "
                        "3; standard error: no such table\n  hint: the command must print one"));
  EXPECT_THAT(refusal(job("echo '{}'; echo Loading; echo warning >&2")),
              HasSubstr("printed no JSON object in line 2: 'Loading'"));
  EXPECT_THAT(refusal(job("true")), HasSubstr("'true' printed no row\n"));
  EXPECT_THAT(refusal(job("no-such-command-anywhere")),
              HasSubstr("ended with status 127; standard error: "));
}

// The command would run forever.
TEST_F(CommandRows, StopsACommandThatPrintsForever) {
  CommandRowsJob endless = job("yes '{}'");
  endless.most_bytes = 3 << 20;
  EXPECT_THAT(refusal(endless), HasSubstr("printed more than 3 MiB"));
  EXPECT_THAT(refusal(job("yes Loading")), HasSubstr("no JSON object in line 1"));
}

}  // namespace
}  // namespace smelt::data
