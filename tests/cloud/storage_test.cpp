// Runs smelt storage with gsutil's command lines on a bucket emulator and checks the objects with
// Google's own client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <latch>
#include <regex>

#include "base/error.h"
#include "cloud/google_stand_in.h"
#include "cloud/storage_api.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StorageTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    emulator_ = std::make_unique<GcsEmulator>();
    ::setenv(kStorageEmulator, ("http://" + emulator_->endpoint()).c_str(), 1);
    for (const auto& [name, bytes] : {std::pair{"data/a.txt", "one"},
                                      {"data/b.txt", "three"},
                                      {"data/deep/er/c.bin", "eleven byte"}})
      io::write_file(dir_.file(name), bytes);
  }
  // Runs `smelt storage LINE`, which must succeed, and returns its output.
  std::string says(const std::string& line) {
    const CommandOutput out = run_smelt("storage " + line);
    EXPECT_EQ(out.status, 0) << line << "\n" << out.text;
    return out.text;
  }
  void refused(const std::string& line, const testing::Matcher<std::string>& message) {
    expect_refusal("storage " + line, message);
  }
  // Returns the names of all objects, each followed by a space.
  std::string objects() {
    return std::regex_replace(emulator_->client("list"), std::regex(" [0-9]+\n"), " ");
  }

  const TempDir dir_;
  const EmptyHome home_;
  const ScopedVariable server_{kStorageEmulator},
      override_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"}, project_{"GOOGLE_CLOUD_PROJECT", "p"};
  std::unique_ptr<GcsEmulator> emulator_;
};

TEST_F(StorageTest, TutorialCommandsCreateFillListAndDeleteABucket) {
  EXPECT_EQ(says("mb -l us-central1 -p p -c standard -b on gs://mine"),
            "created gs://mine in us-central1\n");
  refused("mb gs://mine", AllOf(HasSubstr("storage: bucket mine already exists"),
                                HasSubstr("hint: use it: smelt storage ls gs://mine")));
  EXPECT_EQ(says("-m cp -r " + dir_.file("data") + " gs://mine"), "copied 3 files, 19 B\n");
  EXPECT_EQ(says("ls"), "gs://bucket/\ngs://mine/\n");
  EXPECT_EQ(says("ls gs://mine/data"),
            "gs://mine/data/deep/\ngs://mine/data/a.txt\ngs://mine/data/b.txt\n");
  EXPECT_THAT(says("ls -lr gs://mine"),
              AllOf(HasSubstr("          11  20"), HasSubstr("Z  gs://mine/data/deep/er/c.bin\n"),
                    HasSubstr("total: 3 files, 19 bytes\n")));
  EXPECT_EQ(says("ls gs://mine/data/*.txt"), "gs://mine/data/a.txt\ngs://mine/data/b.txt\n");
  EXPECT_EQ(says("du -sh gs://mine"), "19 B        gs://mine\n");
  EXPECT_EQ(says("du --json gs://mine/data/deep"),
            R"({"usage":[{"path":"gs://mine/data/deep","files":1,"bytes":11}],"bytes":11})"
            "\n");
  refused("rm -r gs://mine",
          AllOf(HasSubstr("storage rm: bucket mine contains 3 files, 19 B: nothing was deleted"),
                HasSubstr("hint: add --all to delete all that is in it")));
  refused("rm gs://mine/**", HasSubstr("contains 3 files"));
  EXPECT_EQ(says("rm -r gs://mine/data/deep"), "removed 1 file, 11 B\n");
  EXPECT_EQ(says("rm -r gs://mine --all"), "removed 2 files, 8 B\nremoved gs://mine\n");
  EXPECT_EQ(says("ls"), "gs://bucket/\n");
  EXPECT_EQ(says("buckets create gs://mine --location=EU"), "created gs://mine in eu\n");
  EXPECT_EQ(says("rm -r gs://mine"), "removed 0 files, 0 B\nremoved gs://mine\n");
}

TEST_F(StorageTest, CopiesLikeGsutil) {
  const std::string data = dir_.file("data");
  says("cp " + data + "/a.txt gs://bucket/name");
  says("cp " + data + "/a.txt " + data + "/b.txt gs://bucket/two");
  says("cp -r " + data + " gs://bucket/new");
  says("cp -r " + data + "/deep gs://bucket/new");
  EXPECT_EQ(objects(), "name new/a.txt new/b.txt new/deep/er/c.bin two/a.txt two/b.txt ");
  says("cp 'gs://bucket/new/*.txt' gs://bucket/two/ --dry-run");
  says("cp -r 'gs://bucket/new/*' gs://bucket/w");
  says("rm 'gs://bucket/new/**' 'gs://bucket/two/*' gs://bucket/name");
  EXPECT_EQ(objects(), "w/a.txt w/b.txt w/deep/er/c.bin ");
  says("cp -r gs://bucket/w " + dir_.path());
  EXPECT_EQ(io::read_file(dir_.file("w/deep/er/c.bin")), "eleven byte");
  says("cp gs://bucket/w/a.txt " + dir_.file("here"));
  EXPECT_EQ(io::read_file(dir_.file("here")), "one");
  refused("cp gs://bucket/w " + dir_.path(),
          HasSubstr("gs://bucket/w is a folder\n  hint: add -r"));
  refused("cp gs://bucket/x " + dir_.path(), HasSubstr("gs://bucket/x: no such file"));
  refused("cp " + data + "/a.txt " + dir_.file("b"), HasSubstr("is on gs://"));
  refused("cp gs://bucket/w/a.txt " + data + "/a.txt gs://bucket/v",
          HasSubstr("would both become gs://bucket/v/a.txt"));
  refused("cp " + data + "/a.txt gs://none/x", HasSubstr("bucket none does not exist"));
}

TEST_F(StorageTest, RsyncCopiesFilesWithAnotherChecksum) {
  const std::string line = "rsync -r " + dir_.file("data") + " gs://bucket/there";
  EXPECT_EQ(says(line), "copied 3 files, 19 B\n0 unchanged\n");
  io::write_file(dir_.file("data/a.txt"), "two");
  std::filesystem::remove(dir_.file("data/b.txt"));
  EXPECT_THAT(says(line + " -n"), HasSubstr("would copy 1 file, 3 B\n1 unchanged"));
  EXPECT_EQ(says(line), "copied 1 file, 3 B\n1 unchanged, 1 only in gs://bucket/there\n");
  EXPECT_EQ(says(line + " -d"),
            "copied 0 files, 0 B\n2 unchanged, 1 only in gs://bucket/there, removed\n");
  EXPECT_EQ(says("rsync -r gs://bucket/there " + dir_.file("back")),
            "copied 2 files, 14 B\n0 unchanged\n");
  EXPECT_EQ(io::read_file(dir_.file("back/a.txt")), "two");
  EXPECT_EQ(says("rsync gs://bucket/there gs://bucket/flat"), "copied 1 file, 3 B\n0 unchanged\n");
  EXPECT_EQ(says("rsync -r gs://bucket/there gs://bucket/flat"),
            "copied 1 file, 11 B\n1 unchanged\n");
  refused("rsync gs://bucket/there gs://bucket/there/in", HasSubstr("contains the other"));
  refused("rsync gs://bucket/none gs://bucket/in", HasSubstr("gs://bucket/none is not a folder"));
}

TEST_F(StorageTest, SupportsSpecialCharactersInObjectNames) {
  const std::string site = dir_.file("site"), all =
                                                  "site/a&token=1.txt site/b?scheme=http "
                                                  "site/index.html?lang=en site/wiki [1], x.txt ";
  for (const char* name :
       {"index.html?lang=en", "a&token=1.txt", "b?scheme=http", "wiki [1], x.txt"})
    io::write_file(io::join_path(site, name), name);
  io::write_file(dir_.file("good"), "GOOD");
  says("cp " + dir_.file("good") + " gs://bucket/other/b");
  says("cp -r " + site + " gs://bucket/");
  EXPECT_EQ(objects(), "other/b " + all);
  EXPECT_THAT(says("ls gs://bucket/site"), HasSubstr("gs://bucket/site/index.html?lang=en\n"));
  says("rsync -r " + site + " gs://bucket/other");
  EXPECT_EQ(emulator_->client("list").substr(0, 10), "other/a&to");
  EXPECT_THAT(emulator_->client("list"), HasSubstr("other/b 4\n"));
  EXPECT_THAT(says("rsync -r gs://bucket/site " + dir_.file("back")), HasSubstr("copied 4 files"));
  EXPECT_EQ(io::read_file(dir_.file("back/a&token=1.txt")), "a&token=1.txt");
  says("cp -r gs://bucket/site gs://bucket/twice");
  says("cp " + dir_.file("good") + " 'gs://bucket/twice/index.html?lang=en'");
  EXPECT_THAT(emulator_->client("list"), HasSubstr("twice/index.html?lang=en 4\n"));
  says("rm 'gs://bucket/twice/index.html?lang=en' 'gs://bucket/twice/a&token=1.txt?='");
  EXPECT_EQ(says("rm -r gs://bucket/twice gs://bucket/other"), "removed 7 files, 91 B\n");
  EXPECT_EQ(objects(), all);
}

TEST_F(StorageTest, TrailingSlashSelectsOnlyObjectsBelowTheFolder) {
  const std::string a = dir_.file("data/a.txt");
  says("cp " + a + " gs://bucket/logs");
  says("cp " + a + " gs://bucket/logs/x");
  EXPECT_EQ(says("du -s gs://bucket/logs/"), "3           gs://bucket/logs/\n");
  EXPECT_EQ(says("cp -r gs://bucket/logs/ " + dir_.file("down")), "copied 1 file, 3 B\n");
  EXPECT_EQ(says("rm -r gs://bucket/logs/"), "removed 1 file, 3 B\n");
  EXPECT_EQ(objects(), "logs ");
  refused("rm gs://bucket/logs/", HasSubstr("gs://bucket/logs/: no such file or folder"));
  refused("rm -r 'gs://bucket/l*/'", HasSubstr("no such file or folder"));
  EXPECT_EQ(says("rm -r gs://bucket/logs"), "removed 1 file, 3 B\n");
}

TEST_F(StorageTest, LiteralPathSelectsOneObject) {
  for (const char* name : {"/", "f/", "f/x"})
    emulator_->client(str("put ", name, " ", dir_.file("data/a.txt")));
  refused("rm -r 'gs://bucket//?='", HasSubstr("hint: add --all to delete all"));
  refused("rm -r 'gs://bucket/?='", HasSubstr("has no object name"));
  refused("rm -r 'gs://bucket?='", HasSubstr("has no object name"));
  EXPECT_EQ(says("rm 'gs://bucket/f/?='"), "removed 1 file, 3 B\n");
  EXPECT_EQ(says("rm -r --all 'gs://bucket//?='"), "removed 1 file, 3 B\n");
  EXPECT_EQ(objects(), "f/x ");
}

TEST_F(StorageTest, RejectsAnObjectThatTheStoreDecompresses) {
  emulator_->client("put-gzip t.txt " + dir_.file("data/a.txt"));
  refused("cp gs://bucket/t.txt " + dir_.file("here"),
          HasSubstr("gs://bucket/t.txt: it is stored with Content-Encoding: gzip"));
  EXPECT_FALSE(io::exists(dir_.file("here")));
  says("cp gs://bucket/t.txt gs://bucket/u.txt");
}

TEST_F(StorageTest, RequesterPaysAndBillingErrorsHaveTheirOwnHints) {
  emulator_->fault(R"([{"match": ".", "times": 9, "do": "requester pays"}])");
  refused("ls gs://bucket", AllOf(HasSubstr("requester pays"), HasSubstr("--billing-project=")));
  emulator_->fault(R"([{"match": ".", "times": 9, "do": "refuse billing"}])");
  refused("ls gs://bucket", HasSubstr("hint: gcloud billing projects link"));
}

// The emulator stores the bytes. Requests for metadata go to the server `lists`, which reports a
// wrong checksum.
TEST_F(StorageTest, RemovesCopiesWithAWrongChecksum) {
  std::string deleted, names = "x";
  HttpServer lists([&](const ServedRequest& request) -> ServedAnswer {
    if (request.method == "DELETE") deleted = request.target;
    if (request.target == "/storage/v1/b/bucket/o/x")
      return {200, R"({"size": "3", "crc32c": "AAAAAA==", "generation": "7"})"};
    if (request.target.find("delimiter") != std::string::npos) return {200, "{}"};
    if (request.target.find("pageToken=next") == std::string::npos)
      return {200, R"({"nextPageToken": "next"})"};
    return {200, R"({"items": [{"name": ")" + names + R"(", "size": "3", "crc32c": "AAAAAA=="}]})"};
  });
  says("cp " + dir_.file("data/a.txt") + " gs://bucket/x");
  const ScopedVariable override("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", lists.url(""));
  const CommandOutput down = run_smelt("storage cp gs://bucket/x " + dir_.file("got"));
  EXPECT_EQ(down.status, 1);
  EXPECT_THAT(down.text, AllOf(HasSubstr("/got: its CRC-32C is "),
                               HasSubstr(", expected AAAAAA==; the copy was removed\n  hint: ")));
  EXPECT_FALSE(io::exists(dir_.file("got")));
  const std::size_t before = lists.requests().size();
  const CommandOutput up = run_smelt("storage cp " + dir_.file("data/a.txt") + " gs://bucket/x");
  EXPECT_EQ(up.status, 1);
  EXPECT_THAT(up.text, HasSubstr("gs://bucket/x: its CRC-32C is AAAAAA=="));
  // Only this object's metadata is read, and it is deleted only if nobody else has replaced it.
  EXPECT_EQ(deleted, "/storage/v1/b/bucket/o/x?ifGenerationMatch=7");
  const auto asked = lists.requests();
  for (std::size_t i = before; i < asked.size(); ++i)
    EXPECT_THAT(asked[i].target, testing::AnyOf(HasSubstr("/o/x"), HasSubstr("delimiter")));
  names = "x/../../up";
  refused("cp -r gs://bucket/x " + dir_.file("got"),
          HasSubstr("the object name '../../up' is not a valid file name"));
}

TEST_F(StorageTest, ReportsSkippedFilesAndDoesNotDeleteThem) {
  const std::string data = dir_.file("data"), line = "rsync -r " + data + " gs://bucket/there";
  says(line);
  EXPECT_THAT(says("cp '" + data + "/*' gs://bucket/flat/"),
              AllOf(HasSubstr("is a folder: skipped\n"), HasSubstr("copied 2 files, 8 B")));
  std::filesystem::rename(data + "/deep", dir_.file("elsewhere"));
  std::filesystem::create_directory_symlink(dir_.file("elsewhere"), data + "/deep");
  EXPECT_THAT(says(line),
              HasSubstr("note: " + data + "/deep is neither file nor folder: skipped\n"));
  refused(line + " -d", AllOf(HasSubstr("-d would remove gs://bucket/there/deep/er/c.bin"),
                              HasSubstr("hint: remove -d")));
  EXPECT_THAT(objects(), HasSubstr("there/deep/er/c.bin"));
}

TEST(Storage, ChoosesCredentialsForEachPath) {
  EmptyHome home;
  GoogleStandIn google;
  home.name_file(google.user());
  const HttpServer storage([](const ServedRequest& /*request*/) -> ServedAnswer {
    return {200, R"({"items": [{"name": "x", "size": "3"}]})"};
  });
  const ScopedVariable emulator(kStorageEmulator),
      there("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", storage.url(""));
  const CommandOutput out = run_smelt("storage ls gs://anonymous@open gs://mine");
  EXPECT_EQ(out.text, "gs://anonymous@open/x\ngs://mine/x\n");
  const auto asked = storage.requests();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_FALSE(asked[0].headers.contains("authorization"));
  EXPECT_TRUE(asked[1].headers.contains("authorization"));
}

TEST(StorageNames, ReportsTakenAndInvalidBucketNames) {
  const EmptyHome home;
  const HttpServer server([](const ServedRequest& request) -> ServedAnswer {
    return {request.method == "POST" ? 409 : 403, R"({"error": {"message": "no"}})"};
  });
  const ScopedVariable there(kStorageEmulator, server.url("")),
      override("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"), project("GOOGLE_CLOUD_PROJECT", "p");
  expect_refusal("storage mb gs://bert",
                 AllOf(HasSubstr("the bucket name bert is taken; bucket names are shared"),
                       HasSubstr("hint: use another name, such as gs://p-bert")));
  expect_refusal("storage mb gs://My-Bert",
                 AllOf(HasSubstr("the bucket name 'My-Bert' is not allowed"),
                       HasSubstr("use a name such as gs://my-bert")));
  expect_refusal("storage mb gs://google-bert", HasSubstr("is not allowed"));
  expect_refusal("storage mb gs://b/x", HasSubstr("is a folder in a bucket"));
  expect_refusal("storage mb -l us-central1-a gs://bert",
                 AllOf(HasSubstr("us-central1-a is a zone"), HasSubstr("hint: -l us-central1")));
  expect_refusal("storage mb -b maybe gs://bert", HasSubstr("-b must be on or off, got 'maybe'"));
  expect_refusal("storage ls s3://b", HasSubstr("s3://b is not on Google's storage"));
  expect_refusal("storage ls 'gs://b/x?scheme=http'",
                 HasSubstr("smelt storage takes no options in a path"));
  for (const char* options :
       {"?retry_limit_seconds=5", "?a=b&scheme=http", "?project_id=p", "?=&a=b"})
    expect_refusal(str("storage ls 'gs://b/x", options, "'"),
                   HasSubstr("smelt storage takes no options in a path"));
  expect_refusal("storage rm -r 'gs://b/?='", HasSubstr("gs://b/?= has no object name"));
  expect_refusal("storage ls gs://bert",
                 AllOf(HasSubstr("gs://bert/: no"), HasSubstr("--role=roles/storage.admin")));
}

TEST(GoogleApi, ParallelCallsShareOneToken) {
  EmptyHome home;
  GoogleStandIn google;
  home.name_file(google.user());
  const ScopedVariable there("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", google.url(""));
  google.answer("/x", {200, "{}"});
  const GoogleApi api{TokenSource(io::google_credentials())};
  std::latch all(8);  // makes all calls start together
  call_side_by_side(api, 8, [&](GoogleApi& own, std::size_t /*number*/) {
    all.arrive_and_wait();
    own.call({.service = "tpu", .path = "/x"});
  });
  EXPECT_EQ(google.count("/x"), 8);
  EXPECT_EQ(google.count("/token"), 1);
}

}  // namespace
}  // namespace smelt::cloud
