// Tests gs:// with an emulator and compares with Google's own client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/parallel.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/object_store_test.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/thread_limit.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

class GcsTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    emulator_ = std::make_unique<GcsEmulator>();
  }
  std::string at(std::string_view key) const { return emulator_->path(key); }
  std::string client(const std::string& arguments) const { return emulator_->client(arguments); }

  const TempDir dir_;
  std::unique_ptr<GcsEmulator> emulator_;
};

TEST_F(GcsTest, ReadsBackWhatItWrites) { expect_round_trips(at("")); }

TEST_F(GcsTest, ReadsRangesFromSeveralThreads) { expect_ranged_reads(at("data")); }

TEST_F(GcsTest, ExpandsPatternsLikeTensorFlow) { expect_patterns(at("data")); }

TEST_F(GcsTest, ListsAndRemovesFolders) { expect_folders(at("data")); }

// A killed process's last requests may still arrive while the next process removes the folder.
TEST_F(GcsTest, RemovesAFolderThatOthersRemoveAtTheSameTime) {
  for (int i = 0; i < 30; ++i) write_file(at(str("tree/", i)), "x");
  run_parallel(4, [&](int) { remove_tree(at("tree")); });
  EXPECT_THAT(list_folder(at("tree")), testing::IsEmpty());
}

TEST_F(GcsTest, ShowsNoObjectBeforeCommit) {
  expect_nothing_without_commit(at("data"));
  EXPECT_EQ(client("list"), "data/folder/a 1\ndata/left/old 3\n");
}

TEST_F(GcsTest, ReadsAndWritesNothingIfNoThreadCanBeStarted) {
  const std::string bytes = test_bytes((9 << 20) + 3, 5);
  write_file(at("file"), bytes);
  const ThreadLimit none(0);
  for (const auto& act : {std::function<void()>([&] { read_file(at("file")); }),
                          std::function<void()>([&] { write_file(at("other"), bytes); })})
    EXPECT_THAT(error_of<SystemError>(act), HasSubstr("threads: no more can be started"));
  EXPECT_FALSE(exists(at("other")));
}

TEST_F(GcsTest, OfficialClientReadsWrittenObjects) {
  const std::string bytes = test_bytes((20 << 20) + 3, 3);
  write_file(at("big/one"), bytes);
  write_file(at("empty"), "");
  EXPECT_EQ(client("list"), str("big/one ", bytes.size(), "\nempty 0\n"));
  client(str("get big/one ", dir_.file("got")));
  EXPECT_TRUE(read_file(dir_.file("got")) == bytes);
}

TEST_F(GcsTest, ReadsObjectsOfTheOfficialClient) {
  const std::string bytes = test_bytes((20 << 20) + 3, 4);
  write_file(dir_.file("put"), bytes);
  client(str("put theirs/x.txt ", dir_.file("put")));
  EXPECT_TRUE(read_file(at("theirs/x.txt")) == bytes);
  EXPECT_THAT(expand_patterns(at("theirs/*.txt"), "input"),
              testing::ElementsAre(at("theirs/x.txt")));
}

// `gsutil cp -Z` creates such objects. A large object is read in ranges, which the store ignores.
TEST_F(GcsTest, RejectsAnObjectThatTheStoreDecompresses) {
  std::string text;
  for (std::size_t i = 0; i < 200'000; ++i) text += str("line ", i * 7919 % 1'000'003, "\n");
  write_file(dir_.file("small"), "line 1\n");
  write_file(dir_.file("large"), text);
  client(str("put-gzip small ", dir_.file("small"), " large ", dir_.file("large")));
  for (const std::string name : {"small", "large"}) {
    const std::string refused = str("open: gs://bucket/", name, ": it is stored with Content-");
    EXPECT_THAT(message_of([&] { read_file(at(name)); }),
                testing::AllOf(HasSubstr(refused), HasSubstr("--clear-content-encoding")));
    EXPECT_THAT(message_of([&] { RandomAccessFile file(at(name)); }), HasSubstr(refused));
  }
}

TEST_F(GcsTest, ReadsListedNamesWithSpecialCharacters) {
  write_file(dir_.file("put"), "put");
  std::string pairs;
  for (const char* name : {"a?lang=en", "a&token=1", "w [1],", "b?scheme=https"})
    pairs += str(" 'd/", name, "' ", dir_.file("put"));
  client("put" + pairs);
  const auto found = expand_patterns(at("d/*"), "input");
  EXPECT_EQ(found.size(), 4u);
  for (const std::string& path : found) {
    EXPECT_EQ(read_file(path), "put") << path;
    EXPECT_EQ(file_size(path), 3u) << path;
  }
  for (const std::string& name : list_folder(at("d")))
    EXPECT_TRUE(exists(join_path(at("d"), name))) << name;
  const std::string literal = parse_remote(at("d/w [1],")).literal();
  EXPECT_THAT(match_pattern(literal, "input"), testing::ElementsAre(literal));
}

TEST_F(GcsTest, HintDependsOnTheReasonOfTheDenial) {
  write_file(at("x"), "x");
  for (const auto& [form, hint] :
       {std::pair{"refuse permission", "add-iam-policy-binding gs://bucket"},
        {"refuse billing", "hint: gcloud billing projects link"},
        {"refuse api", "hint: gcloud services enable storage.googleapis.com --project=42"},
        {"refuse policy", "hint: ask your organization's administrator"},
        {"requester pays", "hint: smelt does not support requester-pays buckets"}}) {
    emulator_->fault(str(R"([{"match": ".", "times": 1000, "do": ")", form, "\"}]"));
    const std::string message = message_of([&] { read_file(at("x")); });
    if (form == std::string("refuse permission"))
      EXPECT_THAT(message, HasSubstr("permission storage.objects.get on bucket 'bucket'"));
    else
      EXPECT_THAT(message, HasSubstr(hint)) << form;
  }
  emulator_->fault("[]");
  EXPECT_EQ(read_file(at("x")), "x");
}

TEST_F(GcsTest, UsesTheEmulatorOfTheEnvironmentVariable) {
  const ScopedVariable emulator("CLOUD_STORAGE_EMULATOR_ENDPOINT",
                                "http://" + emulator_->endpoint());
  write_file("gs://bucket/by/environment", "x");
  EXPECT_EQ(client("list"), "by/environment 1\n");
  EXPECT_EQ(read_file("gs://bucket/by/environment"), "x");
}

TEST_F(GcsTest, ReportsAMissingObjectWithItsBucket) {
  const std::string what =
      "gs://bucket/dir/x: bucket 'bucket' has no object 'dir/x', accessed as anonymous "
      "(gs://anonymous@…)";
  EXPECT_THAT(message_of([&] { read_file(at("dir/x")); }), HasSubstr("open: " + what));
  EXPECT_THAT(message_of([&] { RandomAccessFile file(at("dir/x")); }), HasSubstr("open: " + what));
  EXPECT_THAT(message_of([&] { file_size(at("dir/x")); }), HasSubstr(what));
  EXPECT_THAT(message_of([&] { expand_patterns(at("dir/x"), "input"); }),
              HasSubstr("input: " + what));
  EXPECT_THROW(read_file(at("dir/x")), UsageError);
}

TEST_F(GcsTest, ReportsAMissingBucket) {
  const std::string what = ": no bucket 'other', accessed as anonymous";
  EXPECT_THAT(message_of([&] { read_file(emulator_->path("x", "other")); }),
              HasSubstr("open: gs://other/x" + what));
  EXPECT_THAT(message_of([&] { write_file(emulator_->path("x", "other"), ""); }),
              HasSubstr("write: gs://other/x" + what));
  EXPECT_THAT(message_of([&] { expand_patterns(emulator_->path("x*", "other"), "input"); }),
              HasSubstr("input: gs://other/x*" + what));
  EXPECT_THAT(message_of([&] { list_folder(emulator_->path("x", "other")); }), HasSubstr(what));
  EXPECT_THROW(read_file(emulator_->path("x", "other")), UsageError);
}

TEST_F(GcsTest, AnUnreachableStoreIsASystemError) {
  const std::string path = at("x");
  emulator_.reset();
  try {
    read_file(path);
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gs://bucket: "));
    EXPECT_THAT(error.what(), HasSubstr("hint: check the network"));
  }
}

TEST_F(GcsTest, RejectsAnUnknownOption) {
  EXPECT_THAT(
      message_of([] { read_file("gs://bucket/x?sceme=http"); }),
      HasSubstr("path: gs://bucket/x?sceme=http: option sceme=http\n  hint: options are scheme="));
}

}  // namespace
}  // namespace smelt::io
