// smelt serve as another program uses it, over pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/inference_folders.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

// Runs a case of serve_pipes.py.
void expect_case(const std::string& name) {
  REQUIRE_PLUGIN("cpu");
  const TempDir dir;
  write_inference_folders(dir.path());
  const CommandOutput output =
      run_command(str("python3 ", source_path("tests/cli/commands/serve_pipes.py"), " ", name, " ",
                      smelt_program(), " ", dir.path()));
  EXPECT_EQ(output.status, 0) << output.text;
}

TEST(Serve, GivesTheSamePredictionsAsTheCommands) { expect_case("predictions"); }

TEST(Serve, ReportsErrorsAndGoesOn) { expect_case("errors"); }

TEST(Serve, StopsARequestAtASignalAndEndsWithItsInput) { expect_case("ends"); }

}  // namespace
}  // namespace smelt::cli
