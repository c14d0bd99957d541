#include "store/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/str.h"
#include "store/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class ArchiveTest : public testing::Test {
 protected:
  // Two files and a folder that holds a third, packed by `tar <flags>`.
  std::string pack(const std::string& flags, const std::string& name) {
    write_file(dir_.file("in/b.txt"), std::string(300000, 'b'));
    write_file(dir_.file("in/a.txt"), "one\n");
    write_file(dir_.file("in/c/d.txt"), "");
    const std::string command =
        str("tar -C ", dir_.file("in"), " ", flags, " -cf ", dir_.file(name), " b.txt c a.txt");
    EXPECT_EQ(std::system(command.c_str()), 0);
    return dir_.file(name);
  }

  TempDir dir_;
};

TEST_F(ArchiveTest, HoldsItsRegularFilesHoweverItIsPacked) {
  for (const char* flags : {"", "-J", "-z", "-j"})
    EXPECT_THAT(read_archive(pack(flags, "x")),
                ElementsAre(Pair("a.txt", "one\n"), Pair("b.txt", std::string(300000, 'b')),
                            Pair("c/d.txt", "")))
        << flags;
}

TEST_F(ArchiveTest, RefusesWhatIsNone) {
  write_file(dir_.file("x.xz"), "no archive\n");
  EXPECT_THAT(error_of([&] { read_archive(dir_.file("x.xz")); }),
              HasSubstr("x.xz: not a whole tar archive: Unrecognized archive format\n"
                        "  hint: copy or make the file again; `tar -tf` checks it"));
  EXPECT_THAT(error_of([&] { read_archive(dir_.file("none.xz")); }),
              HasSubstr("none.xz: No such file or directory"));
}

TEST_F(ArchiveTest, RefusesOneThatIsCutShort) {
  for (const char* flags : {"", "-J"}) {
    const std::string whole = read_file(pack(flags, "x"));
    write_file(dir_.file("x"), std::string_view(whole).substr(0, whole.size() / 2));
    EXPECT_THAT(error_of([&] { read_archive(dir_.file("x")); }),
                HasSubstr("x: not a whole tar archive: "))
        << flags;
  }
}

TEST_F(ArchiveTest, RefusesMoreThanMemoryShallHold) {
  const std::string path = pack("-J", "x");
  EXPECT_EQ(read_archive(path, 300004).size(), 3u);
  EXPECT_THAT(error_of([&] { read_archive(path, 300003); }),
              HasSubstr("x: holds more than 300003 bytes of files\n"
                        "  hint: cut it into several archives"));
}

}  // namespace
}  // namespace smelt
