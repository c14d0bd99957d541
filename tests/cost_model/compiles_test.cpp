// Compiles programs for TPUs in separate processes: reports, out-of-memory errors, cached results,
// and compilers that crash or hang.
#include "cost_model/compiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cost_model {
namespace {

using testing::HasSubstr;

std::string doubled(std::int64_t rows) {
  const std::string type = str("tensor<", rows, "x1024xf32>");
  return str("module @double {\n  func.func public @main(%x: ", type, ") -> ", type,
             " {\n    %y = stablehlo.add %x, %x : ", type, "\n    return %y : ", type,
             "\n  }\n}\n");
}

class TpuCompilesTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("tpu"); }
  // Returns the path of a shell script that replaces smelt.
  std::string shell(const std::string& lines) const {
    const std::string path = dir_.file("smelt.sh");
    io::write_file(path, "#!/bin/sh\n" + lines);
    ::chmod(path.c_str(), 0700);
    return path;
  }
  TempDir dir_;
  const std::string folder_ = dir_.file("kept");
  const TpuCompiles compiles_{folder_, {.smelt = smelt_program()}};
};

TEST_F(TpuCompilesTest, ReturnsReportsAndCachesThem) {
  const std::vector<CompileRequest> requests{
      {doubled(1024), "v5e:1x1"}, {doubled(8 << 20), "v5e:1x1"}, {"no program", "v5e:1x1"}};
  std::vector<std::size_t> finished;
  const auto made =
      compiles_.run(requests, [&](std::size_t i, const Compiled&) { finished.push_back(i); });
  EXPECT_THAT(finished, testing::UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(made[0].end, CompileEnd::fits);
  EXPECT_EQ(made[0].arguments, 4 << 20);
  EXPECT_GT(made[0].cycles, 1000);
  EXPECT_GE(made[0].bytes(), 8 << 20);
  EXPECT_EQ(made[1].end, CompileEnd::does_not_fit);
  EXPECT_THAT(made[1].problem, HasSubstr("exceeds available HBM"));
  EXPECT_EQ(made[2].end, CompileEnd::failed);
  EXPECT_THAT(made[2].problem, HasSubstr("step.mlir"));

  const auto again = compiles_.run(requests);
  EXPECT_TRUE(again[0].from_cache);
  EXPECT_EQ(again[0].cycles, made[0].cycles);
  EXPECT_EQ(again[0].bytes(), made[0].bytes());
  EXPECT_TRUE(again[1].from_cache);
  EXPECT_EQ(again[1].problem, made[1].problem);
  EXPECT_FALSE(again[2].from_cache) << "failures are not cached";
}

TEST_F(TpuCompilesTest, ReportsACompilationThatHangsOrDies) {
  const std::vector<CompileRequest> one{{doubled(1024), "v5e:1x1"}};
  const auto problem = [&](const std::string& lines) {
    const TpuCompiles broken("", {.time_limit = std::chrono::seconds(1), .smelt = shell(lines)});
    return broken.run(one)[0].problem;
  };
  EXPECT_EQ(problem("exec sleep 100\n"), "not compiled within 1 s");
  EXPECT_EQ(problem("kill -9 $$\n"), "the compiler was killed by signal 9, possibly out of memory");
  EXPECT_EQ(problem("echo 'error: bad' >&2\nexit 2\n"), "bad");
  EXPECT_EQ(problem("echo nothing\n"), "the compiler exited with status 0 and no report");
}

TEST_F(TpuCompilesTest, RecompilesADamagedResult) {
  const std::vector<CompileRequest> one{{doubled(1024), "v5e:1x1"}};
  (void)compiles_.run(one);
  for (const std::string& name : io::list_folder(folder_))
    io::write_file(folder_ + "/" + name, "{\"fits\"");
  EXPECT_FALSE(compiles_.run(one)[0].from_cache);
  EXPECT_TRUE(compiles_.run(one)[0].from_cache);
}

}  // namespace
}  // namespace smelt::cost_model
