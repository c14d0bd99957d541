#include "io/filesystem/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Filter = int (*)(::archive*);

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() : bs_(300000, 'b') {}

  // Writes an archive with two files and a folder that contains a third.
  std::string pack(Filter filter) {
    return write(filter, [&](::archive* out) {
      add(out, "b.txt", bs_);
      add(out, "c/", "", AE_IFDIR);
      add(out, "c/d.txt", "");
      add(out, "a.txt", "zero\n");
      add(out, "a.txt", "one\n");
    });
  }
  std::string write(Filter filter, const std::function<void(::archive*)>& add_all) {
    std::unique_ptr<::archive, decltype(&::archive_write_free)> out(::archive_write_new(),
                                                                    ::archive_write_free);
    EXPECT_EQ(filter(out.get()), ARCHIVE_OK);
    ::archive_write_set_format_pax_restricted(out.get());
    EXPECT_EQ(::archive_write_open_filename(out.get(), path_.c_str()), ARCHIVE_OK);
    add_all(out.get());
    EXPECT_EQ(::archive_write_close(out.get()), ARCHIVE_OK);
    return path_;
  }
  static void add(::archive* out, const char* name, std::string_view bytes,
                  unsigned kind = AE_IFREG, const char* link = nullptr) {
    ::archive_entry* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, name);
    ::archive_entry_set_filetype(entry, kind);
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_size(entry, std::ssize(bytes));
    if (link != nullptr && kind == AE_IFLNK) ::archive_entry_set_symlink(entry, link);
    if (link != nullptr && kind != AE_IFLNK) ::archive_entry_set_hardlink(entry, link);
    EXPECT_EQ(::archive_write_header(out, entry), ARCHIVE_OK);
    EXPECT_EQ(::archive_write_data(out, bytes.data(), bytes.size()), std::ssize(bytes));
    ::archive_entry_free(entry);
  }

  TempDir dir_;
  const std::string bs_, path_ = dir_.file("x");
};

TEST_F(ArchiveTest, ReadsRegularFilesUnderEveryCompression) {
  for (const Filter filter : {::archive_write_add_filter_none, ::archive_write_add_filter_xz,
                              ::archive_write_add_filter_gzip, ::archive_write_add_filter_bzip2,
                              ::archive_write_add_filter_zstd})
    EXPECT_THAT(read_archive(pack(filter)),
                ElementsAre(Pair("a.txt", "one\n"), Pair("b.txt", bs_), Pair("c/d.txt", "")));
}

// tar stores a file's bytes once, even if the file has several names.
TEST_F(ArchiveTest, ReadsHardLinksAndRejectsMissingTargets) {
  const auto with_link = [&](const char* to) {
    return write(::archive_write_add_filter_none, [&](::archive* out) {
      add(out, "a.txt", "one\n");
      add(out, "b.txt", "", AE_IFREG, to);
    });
  };
  EXPECT_THAT(read_archive(with_link("a.txt"), 8),
              ElementsAre(Pair("a.txt", "one\n"), Pair("b.txt", "one\n")));
  EXPECT_THAT(error_of([&] { read_archive(with_link("a.txt"), 7); }),
              HasSubstr("x: unpacks to more than 7 bytes"));
  EXPECT_THAT(error_of([&] { read_archive(with_link("c.txt")); }),
              HasSubstr("x: b.txt is a link to c.txt, which is not earlier in the archive\n"
                        "  hint: make the archive again, with `tar --hard-dereference`"));
}

TEST_F(ArchiveTest, FollowsSymbolicLinksOnlyInsideTheArchive) {
  const auto path = write(::archive_write_add_filter_none, [](::archive* out) {
    add(out, "./c/last.txt", "", AE_IFLNK, "../b.txt");  // to a link
    add(out, "b.txt", "", AE_IFLNK, "a.txt");            // to a later entry
    add(out, "a.txt", "one\n");
    add(out, "lost.txt", "", AE_IFLNK, "/etc/passwd");
    add(out, "round.txt", "", AE_IFLNK, "round.txt");
  });
  const CapturedLog log;
  EXPECT_THAT(read_archive(path, 12), ElementsAre(Pair("a.txt", "one\n"), Pair("b.txt", "one\n"),
                                                  Pair("c/last.txt", "one\n")));
  EXPECT_THAT(
      log.text(),
      HasSubstr(
          "x: 2 symbolic links to files outside of the archive are left out, such as lost.txt"));
  EXPECT_THAT(error_of([&] { read_archive(path, 11); }), HasSubstr("more than 11 bytes"));
}

TEST_F(ArchiveTest, ResolvesLinksThroughLinkedFoldersAndLinksToLinks) {
  const auto path = write(::archive_write_add_filter_none, [](::archive* out) {
    add(out, "d1/e/x.txt", "x\n");
    add(out, "d2", "", AE_IFLNK, "d1/e");
    add(out, "y.txt", "", AE_IFLNK, "d2/x.txt");
    add(out, "z.txt", "", AE_IFLNK, "d2/../w.txt");  // resolves to d1/w.txt
    add(out, "d1/w.txt", "w\n");
    add(out, "second.txt", "", AE_IFREG, "y.txt");
    add(out, "./a.txt", "old\n");
    add(out, "a.txt", "", AE_IFLNK, "y.txt");
  });
  const CapturedLog log;
  EXPECT_THAT(read_archive(path),
              ElementsAre(Pair("a.txt", "x\n"), Pair("d1/e/x.txt", "x\n"), Pair("d1/w.txt", "w\n"),
                          Pair("second.txt", "x\n"), Pair("y.txt", "x\n"), Pair("z.txt", "w\n")));
  EXPECT_EQ(log.text(), "");
}

TEST_F(ArchiveTest, RejectsAFileThatIsNotAnArchive) {
  write_file(dir_.file("x.xz"), "no archive\n");
  EXPECT_THAT(error_of([&] { read_archive(dir_.file("x.xz")); }),
              HasSubstr("x.xz: damaged or truncated tar archive: Unrecognized archive format\n"
                        "  hint: copy or make the file again; `tar -tf` checks it"));
  EXPECT_THAT(error_of([&] { read_archive(dir_.file("none.xz")); }),
              HasSubstr("none.xz: No such file or directory"));
}

TEST_F(ArchiveTest, RejectsATruncatedArchive) {
  for (const Filter filter : {::archive_write_add_filter_none, ::archive_write_add_filter_xz}) {
    const std::string whole = read_file(pack(filter));
    write_file(dir_.file("x"), std::string_view(whole).substr(0, whole.size() / 2));
    EXPECT_THAT(error_of([&] { read_archive(dir_.file("x")); }),
                HasSubstr("x: damaged or truncated tar archive: "));
  }
}

TEST_F(ArchiveTest, RejectsContentAboveTheSizeLimit) {
  const std::string path = pack(::archive_write_add_filter_xz);
  EXPECT_EQ(read_archive(path, 300009).size(), 3u);
  EXPECT_THAT(error_of([&] { read_archive(path, 300008); }),
              HasSubstr("x: unpacks to more than 300008 bytes\n"
                        "  hint: split it into several archives"));
}

}  // namespace
}  // namespace smelt::io
