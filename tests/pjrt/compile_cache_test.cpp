// The compile cache loads a program if nothing in its key changed, and compiles it otherwise.
#include "pjrt/compile_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string scaling_by(const std::string& factor) {
  return "module @scale {\n  func.func public @main(%x: tensor<3xf32> {tf.aliasing_output = 0 : "
         "i32}) "
         "-> tensor<3xf32> {\n    %c = stablehlo.constant dense<" +
         factor +
         "> : tensor<3xf32>\n    %z = stablehlo.multiply %x, %c : tensor<3xf32>\n    return %z : "
         "tensor<3xf32>\n  }\n}";
}

class CompileCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    client_ = open_device("cpu");
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms::owner_all);
  }

  std::vector<float> run(const std::string& factor, const CompileCache& cache) {
    const Executable program = cache.compile(*client_, scaling_by(factor));
    const Buffer x = to_device<float>(*client_, {1, 2, 3}, {compiler::DType::f32, {3}});
    const Execution execution = program.execute({{&x}});
    EXPECT_TRUE(x.deleted());  // a loaded program donates like a compiled one
    return execution.results[0][0].to_host<float>();
  }
  std::vector<float> run(const std::string& factor) { return run(factor, CompileCache(folder_)); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& file : fs::directory_iterator(folder_)) out.push_back(file.path());
    return out;
  }
  // Swaps the contents of two files of equal length, to test whether a program was loaded from its
  // file.
  void exchange(const fs::path& file, const fs::path& by) {
    const std::string a = io::read_file(file), b = io::read_file(by);
    io::write_file(file, b);
    io::write_file(by, a);
  }

  TempDir dir_;
  const std::string folder_ = dir_.file("compiled");
  std::shared_ptr<const Client> client_;
};

TEST_F(CompileCacheTest, LoadsAProgramCompiledBefore) {
  EXPECT_THAT(run("2.0"), ElementsAre(2, 4, 6));
  ASSERT_EQ(files().size(), 1u);
  const auto written = fs::last_write_time(files()[0]) - std::chrono::hours(1);
  fs::last_write_time(files()[0], written);
  const std::string bytes = io::read_file(files()[0]);
  EXPECT_THAT(run("2.0"), ElementsAre(2, 4, 6));
  EXPECT_GT(fs::last_write_time(files()[0]), written);  // used, and not written again
  EXPECT_EQ(io::read_file(files()[0]), bytes);
  EXPECT_THAT(run("3.0"), ElementsAre(3, 6, 9));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(CompileCacheTest, IgnoresAFileOfAnotherModule) {
  run("2.0");
  const fs::path two = files()[0];
  fs::rename(two, dir_.file("two"));
  run("3.0");
  const fs::path three = files()[0];
  fs::rename(three, two);
  fs::rename(dir_.file("two"), three);
  EXPECT_THAT(run("2.0"), ElementsAre(2, 4, 6));
  EXPECT_THAT(run("3.0"), ElementsAre(3, 6, 9));
}

TEST_F(CompileCacheTest, ReplacesDamagedFiles) {
  run("2.0");
  const fs::path file = files()[0];
  const std::string whole = io::read_file(file);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{12}, std::size_t{30}, whole.size() / 2, whole.size() - 1}) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 4);
    for (const std::string& bytes : {broken, whole.substr(0, at)}) {
      io::write_file(file, bytes);
      EXPECT_THAT(run("2.0"), ElementsAre(2, 4, 6)) << at;
      EXPECT_EQ(io::read_file(file).substr(0, 24), whole.substr(0, 24)) << at;
      EXPECT_EQ(io::read_file(file).size(), whole.size()) << at;
    }
  }
}

TEST_F(CompileCacheTest, DoesNotReadFilesThatOthersCanWrite) {
  run("2.0");
  const fs::path file = files()[0];
  const auto old = fs::last_write_time(file) - std::chrono::hours(1);
  const auto is_unused = [&] {
    fs::last_write_time(file, old);
    const ::testing::Message at = ::testing::Message() << file;
    EXPECT_THAT(run("2.0"), ElementsAre(2, 4, 6)) << at;
    return fs::last_write_time(file) == old;
  };
  EXPECT_FALSE(is_unused());
  ::chmod(folder_.c_str(), 0777);
  const CapturedLog log;
  EXPECT_TRUE(is_unused());
  EXPECT_THAT(log.text(),
              HasSubstr(folder_ + ": compile cache disabled because other users can write"));
  ::chmod(folder_.c_str(), 0700);
  ::chmod(file.c_str(), 0666);
  run("2.0");
  EXPECT_THAT(log.text(),
              HasSubstr(file.string() + ": not loaded because other users can write it"));
  struct stat status{};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0022, 0u);  // replaced
}

TEST_F(CompileCacheTest, ReadsItsFilesUnderAnyUmask) {
  const mode_t before = ::umask(0002);
  run("2.0");
  ::umask(before);
  const auto written = fs::last_write_time(files()[0]) - std::chrono::hours(1);
  fs::last_write_time(files()[0], written);
  const std::string bytes = io::read_file(files()[0]);
  run("2.0");
  EXPECT_GT(fs::last_write_time(files()[0]), written);  // used
  EXPECT_EQ(io::read_file(files()[0]), bytes);
}

TEST_F(CompileCacheTest, RemovesLeastRecentlyUsedPrograms) {
  run("2.0");
  const std::uint64_t size = fs::file_size(files()[0]);
  const CompileCache small(folder_, 2 * size + size / 2);
  const fs::path two = files()[0];
  run("3.0", small);
  fs::last_write_time(two, fs::last_write_time(two) - std::chrono::hours(1));
  run("4.0", small);
  EXPECT_FALSE(fs::exists(two));
  EXPECT_EQ(files().size(), 2u);
  run("5.0", CompileCache(folder_, size / 2));  // a program that is too large is not stored
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(CompileCacheTest, CompilesWithoutAWritableFolder) {
  io::write_file(dir_.file("file"), "");
  EXPECT_THAT(run("2.0", CompileCache(dir_.file("file/compiled"))), ElementsAre(2, 4, 6));
}

TEST(CompileCache, UsesTheFolderOfTheEnvironment) {
  const auto with = [](const char* chosen) {
    ::setenv("SMELT_COMPILE_CACHE", chosen, 1);
    const bool there = CompileCache::of_user().has_value();
    ::unsetenv("SMELT_COMPILE_CACHE");
    return there;
  };
  EXPECT_FALSE(with("off"));
  EXPECT_TRUE(with("/nowhere"));
}

}  // namespace
}  // namespace smelt::pjrt
