// smelt electra flops against the original's own table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

TEST(ElectraFlops, MatchTheOriginalAndShowTheRealCost) {
  const CommandOutput output = run_smelt(str("electra flops"));
  ASSERT_EQ(output.status, 0) << output.text;
  std::istringstream golden(io::read_file(source_path("tests/golden/electra/flops.txt")));
  std::istringstream table(output.text);
  std::string line, want_model, want, model, original, real;
  std::getline(table, line);
  EXPECT_EQ(line, "floating-point operations of a complete training run");
  std::getline(table, line);
  EXPECT_THAT(line, testing::MatchesRegex("model +original +backward = 2 x forward"));
  int rows = 0;
  for (; golden >> want_model >> want; ++rows) {
    table >> model >> original >> real;
    EXPECT_EQ(model, want_model);
    EXPECT_EQ(original, want) << model;
    EXPECT_DOUBLE_EQ(std::stod(real), 1.5 * std::stod(want)) << model;
  }
  EXPECT_EQ(rows, 13);
  EXPECT_FALSE(table >> model);
}

}  // namespace
}  // namespace smelt::cli
