#include "io/filesystem/object_store_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"

namespace smelt::io {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string test_bytes(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; i += 8) {
    const auto word = random();
    bytes.replace(i, std::min<std::size_t>(8, count - i), reinterpret_cast<const char*>(&word),
                  std::min<std::size_t>(8, count - i));
  }
  return bytes;
}

// Uses sizes around the block size of reads and the part size of writes.
void expect_round_trips(const std::string& folder) {
  for (const std::size_t size : {0, 1, 1000, 4 << 20, (4 << 20) + 1, 8 << 20, (17 << 20) + 5}) {
    const std::string path = join_path(folder, str("round/", size));
    const std::string bytes = test_bytes(size, static_cast<unsigned>(size));
    write_file(path, bytes);
    EXPECT_EQ(file_size(path), size);
    EXPECT_TRUE(read_file(path) == bytes) << size;
  }
  const std::string path = join_path(folder, "round/1000");
  write_file(path, "replaced");
  EXPECT_EQ(read_file(path), "replaced");
  for (const char* name : {"with space", "per%20cent", "a#b", "a=b&c", "ünï"}) {
    const std::string odd = join_path(folder, str("odd/", name));
    write_file(odd, name);
    EXPECT_EQ(read_file(odd), name);
  }
}

void expect_ranged_reads(const std::string& folder) {
  const std::string path = join_path(folder, "ranged");
  const std::string bytes = test_bytes(10 << 20, 7);
  write_file(path, bytes);
  const RandomAccessFile file(path);
  EXPECT_EQ(file.size(), bytes.size());
  const auto check = [&](std::size_t offset, std::size_t count) {
    std::string got(count, '\0');
    got.resize(file.read_at(offset, got));
    EXPECT_TRUE(got == bytes.substr(std::min(offset, bytes.size()), count))
        << offset << " " << count;
  };
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < 8; ++i) check(thread * 2000000 + i * 1234, 100 + i * 10000);
    });
  for (std::thread& thread : threads) thread.join();
  check(bytes.size() - 5, 100);
  check(bytes.size(), 10);
  check(bytes.size() + 1000, 10);
  InputFile input(path);
  std::string got(6 << 20, '\0');
  for (const std::size_t offset : {9 << 20, 0, 5 << 20, 100}) {
    input.seek(offset);
    EXPECT_EQ(input.read(got), std::min(got.size(), bytes.size() - offset));
    EXPECT_TRUE(bytes.substr(offset).starts_with(
        got.substr(0, std::min(got.size(), bytes.size() - offset))));
  }
}

void expect_patterns(const std::string& folder) {
  const auto at = [&](const std::string& name) { return join_path(folder, name); };
  for (const char* name :
       {"x-00001-of-00500", "x-00499-of-00500", "x-00500-of-00501", "a.tfrecord", "b.tfrecord",
        ".hidden.tfrecord", "day=1/p.txt", "day=2/p.txt", "day=2/deep/p.txt"})
    write_file(at(str("glob/", name)), name);
  EXPECT_THAT(expand_patterns(at("glob/x-00??"
                                 "?-of-00500"),
                              "input"),
              ElementsAre(at("glob/x-00001-of-00500"), at("glob/x-00499-of-00500")));
  EXPECT_THAT(expand_patterns(at("glob/*tfrecord"), "input"),
              ElementsAre(at("glob/a.tfrecord"), at("glob/b.tfrecord")));
  EXPECT_THAT(expand_patterns(at("glob/day=?/*.txt"), "input"),
              ElementsAre(at("glob/day=1/p.txt"), at("glob/day=2/p.txt")));
  EXPECT_THAT(
      expand_patterns(at("g*b/[bx]*") + " , " + at("glob/a.tfrecord"), "input"),
      ElementsAre(at("glob/b.tfrecord"), at("glob/x-00001-of-00500"), at("glob/x-00499-of-00500"),
                  at("glob/x-00500-of-00501"), at("glob/a.tfrecord")));
  EXPECT_THAT(message_of([&] { expand_patterns(at("glob/y*"), "input"); }),
              HasSubstr(str("input: no file matches '", at("glob/y*"), "'")));
  EXPECT_THAT(message_of([&] { expand_patterns(at("glob/none"), "input"); }),
              HasSubstr("glob/none', accessed as"));
}

void expect_folders(const std::string& folder) {
  const auto at = [&](const std::string& name) { return join_path(folder, name); };
  EXPECT_FALSE(exists(at("tree")));
  EXPECT_THAT(list_folder(at("tree")), IsEmpty());
  for (const char* name : {"tree/b", "tree/a/x", "tree/a/y/z", "tree2/x"})
    write_file(at(name), name);
  EXPECT_THAT(list_folder(at("tree")), ElementsAre("a", "b"));
  EXPECT_TRUE(file_status(at("tree/a"))->is_folder);
  EXPECT_FALSE(file_status(at("tree/b"))->is_folder);
  EXPECT_EQ(file_status(at("tree/b"))->size, 6);
  EXPECT_GT(file_status(at("tree/b"))->modified, 0);
  EXPECT_FALSE(exists(at("tree/a/y/q")));
  remove_file(at("tree/b"));
  remove_file(at("tree/b"));
  EXPECT_THAT(list_folder(at("tree")), ElementsAre("a"));
  std::vector<std::string> many{at("tree/none")};
  for (int i = 0; i < 40; ++i) {
    many.push_back(at(str("tree/many/", i)));
    write_file(many.back(), std::string(static_cast<std::size_t>(i), 'x'));
  }
  EXPECT_EQ(total_size({many.begin() + 1, many.end()}), 39 * 40 / 2);
  EXPECT_THAT(message_of([&] { total_size(many); }), HasSubstr("tree/none"));
  remove_tree(at("tree/many"));
  EXPECT_THAT(list_folder(at("tree")), ElementsAre("a"));
  remove_tree(at("tree"));
  remove_tree(at("tree"));
  EXPECT_FALSE(exists(at("tree/a/x")));
  EXPECT_TRUE(exists(at("tree2/x")));
  EXPECT_THROW(OutputDirectory(at("tree2")), UsageError);
}

void expect_nothing_without_commit(const std::string& folder) {
  const auto at = [&](const std::string& name) { return join_path(folder, name); };
  for (const std::size_t size : {0, 10, 20 << 20}) {
    OutputFile file(at("left/new"));
    file.write(test_bytes(size, 1));
  }
  EXPECT_THAT(list_folder(at("left")), IsEmpty());
  write_file(at("left/old"), "old");
  {
    OutputFile file(at("left/old"));
    file.write(test_bytes(9 << 20, 1));
  }
  EXPECT_EQ(read_file(at("left/old")), "old");
  {
    OutputDirectory directory(at("folder"));
    write_file(directory.file("a"), "a");
    OutputFile b(directory.file("b"));
    b.write("b");
  }
  EXPECT_FALSE(exists(at("folder")));
  OutputDirectory directory(at("folder"));
  write_file(directory.file("a"), "a");
  directory.commit();
  EXPECT_THAT(list_folder(at("folder")), ElementsAre("a"));
}

}  // namespace smelt::io
