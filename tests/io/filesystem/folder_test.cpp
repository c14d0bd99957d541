#include "io/filesystem/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Changes the working directory while it lives.
class Here {
 public:
  explicit Here(const std::string& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~Here() { fs::current_path(before_); }

 private:
  fs::path before_;
};

TEST(CanonicalPath, IsTheSameForAllAliasesOfAPath) {
  const TempDir dir;
  const Here here(dir.path());
  write_file("real/old", "");
  fs::create_directory_symlink("real", "link");
  fs::create_symlink("real/old", "file");
  for (const std::string name : {"real/old", "real/new", "real/no/folder/new"}) {
    const std::string whole = fs::canonical(dir.path()) / name;
    const std::string rest = name.substr(5);
    for (const std::string& alias :
         {name, "./" + name, "real/../" + name, "link/" + rest, "none/../" + name, dir.file(name),
          dir.file("link//" + rest), name + "/"})
      EXPECT_EQ(canonical_path(alias), whole) << alias;
  }
  EXPECT_EQ(canonical_path("file"), canonical_path("real/old"));
  EXPECT_EQ(canonical_path("gs://b//a/b/?scheme=http"), "gs://b/a/b");
  EXPECT_EQ(canonical_path("gs://anonymous@b/a/b"), "gs://b/a/b");
}

TEST(CheckApart, RejectsAnOutputThatIsAnAliasOfAnInput) {
  const TempDir dir;
  const Here here(dir.path());
  write_file("in", "x");
  fs::create_symlink("in", "link");
  const auto refusal = [](const std::string& output, const std::string& input) {
    return error_of<UsageError>([&] { check_apart({output}, {input}); });
  };
  for (const std::string output : {"in", "./in", "none/../in", "link"})
    EXPECT_THAT(refusal(output, "in"),
                HasSubstr("output " + output + " is also an input, which it would replace"));
  EXPECT_NE(refusal("gs://b/x?scheme=http", "gs://b/x"), "no error");
  EXPECT_EQ(refusal("out", "in"), "no error");
  // Two paths that cannot be resolved do not count as the same file.
  fs::create_symlink("loop", "loop");
  fs::create_symlink("round", "round");
  EXPECT_EQ(refusal("loop", "round"), "no error");
}

}  // namespace
}  // namespace smelt::io
