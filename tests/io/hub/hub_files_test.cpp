#include "io/hub/hub_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/file_content.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"
#include "io/hub/hub_client.h"
#include "io/hub/hub_download.h"
#include "support/captured_log.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/fake_hub.h"
#include "support/file_size_limit.h"

namespace smelt::io {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kSmall = "{\"a\": 1}\n";
// 5000 bytes, so the file is in large-file storage.
std::string large() {
  std::string out;
  while (out.size() < 5000) out += str("line ", out.size(), "\n");
  return out.substr(0, 5000);
}

class HubFilesTest : public testing::Test {
 protected:
  HubFilesTest() {
    hub_.add("models/org/name", "config.json", kSmall);
    hub_.add("models/org/name", "model.safetensors", large());
    hub_.add("models/org/name", "sub dir/n\u00e9w#1.txt", "odd name");
    hub_.add("models/org/name", "empty.txt", "");
    hub_.add("models/org/name", "vocab.txt", "[PAD]\n");
  }

  // Downloads the large file with a client that does not wait. Returns "" or the error.
  std::string download() {
    const HubCommit commit = hub_commit(parse_hub_path("hf://org/name"));
    const HubFile file = hub_files_below(commit, "").at("model.safetensors");
    HubClient client(hub_settings(), HubPatience::patient, TokenUse::implicit,
                     [this](std::chrono::milliseconds time) { waits_.push_back(time); });
    const HubCache cache(hub_settings().cache, commit.path.repo);
    const std::string error = error_of(
        [&] { download_blob(client, cache, commit.path.with_path("model.safetensors"), file); });
    if (error != "no error") return error;
    EXPECT_EQ(read_file(cache.blob(file.digest)), large());
    EXPECT_THAT(files_named(".incomplete"), IsEmpty());
    return "";
  }

  std::vector<std::string> files_named(const std::string& ending) const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(hub_.cache()))
      if (entry.path().string().ends_with(ending)) out.push_back(entry.path());
    return out;
  }

  FakeHub hub_;
  std::vector<std::chrono::milliseconds> waits_;
};

TEST_F(HubFilesTest, ReadsFilesThroughEveryReader) {
  const CapturedLog log;
  EXPECT_EQ(read_file("hf://org/name/config.json"), kSmall);
  EXPECT_EQ(FileContent("hf://org/name/model.safetensors").bytes(), large());
  std::string part(5, ' ');
  RandomAccessFile("hf://org/name@main/model.safetensors").read_at(7, part);
  EXPECT_EQ(part, large().substr(7, 5));
  EXPECT_EQ(read_file("hf://org/name/sub dir/n\u00e9w#1.txt"), "odd name");
  EXPECT_EQ(read_file("hf://org/name/empty.txt"), "");
  EXPECT_THAT(log.text(), AllOf(HasSubstr("hub: hf://org/name is commit "),
                                HasSubstr("hub: downloaded hf://org/name@")));
}

TEST_F(HubFilesTest, ListsFoldersAndExpandsPatterns) {
  EXPECT_THAT(list_folder("hf://org/name"),
              ElementsAre("config.json", "empty.txt", "model.safetensors", "sub dir", "vocab.txt"));
  EXPECT_TRUE(is_folder("hf://org/name"));
  EXPECT_TRUE(is_folder("hf://org/name/sub dir"));
  EXPECT_FALSE(exists("hf://org/name/sub"));
  EXPECT_EQ(file_size("hf://org/name/model.safetensors"), 5000u);
  EXPECT_THAT(expand_files("hf://org/name/*.txt", "text.input"),
              ElementsAre("hf://org/name/empty.txt", "hf://org/name/vocab.txt"));
  EXPECT_THAT(expand_files("hf://org/name/**/*.txt", "text.input"), testing::SizeIs(3));
  EXPECT_EQ(hub_.count("GET /blob") + hub_.count("/resolve/"), 0) << "nothing is downloaded";
}

TEST_F(HubFilesTest, NeedsOneRequestForTheRevisionAndTwoPagesOfTheList) {
  EXPECT_EQ(read_file("hf://org/name/config.json"), kSmall);
  EXPECT_EQ(read_file("hf://org/name/vocab.txt"), "[PAD]\n");
  EXPECT_EQ(hub_.count("/revision/main"), 1);
  EXPECT_EQ(hub_.count("/tree/"), 2);
  hub_.forget_requests();
  forget_hub_commits();  // as a new process
  EXPECT_EQ(read_file("hf://org/name/config.json"), kSmall);
  EXPECT_EQ(hub_.requests().size(), 1u);  // the revision
  hub_.forget_requests();
  const std::string pinned = canonical_path("hf://org/name/config.json");
  EXPECT_TRUE(pinned.starts_with("hf://org/name@") && pinned.ends_with("/config.json")) << pinned;
  forget_hub_commits();
  EXPECT_EQ(read_file(pinned), kSmall);
  EXPECT_THAT(hub_.requests(), IsEmpty());
}

TEST_F(HubFilesTest, ReadsAllFilesFromTheCommitOfTheFirst) {
  EXPECT_EQ(read_file("hf://org/name/config.json"), kSmall);
  hub_.add("models/org/name", "vocab.txt", "[UNK]\n");
  EXPECT_EQ(read_file("hf://org/name/vocab.txt"), "[PAD]\n");
  forget_hub_commits();
  EXPECT_EQ(read_file("hf://org/name/vocab.txt"), "[UNK]\n");
  EXPECT_EQ(read_file("hf://org/name/config.json"), kSmall);
  EXPECT_EQ(hub_.count("config.json"), 2) << "an unchanged file is downloaded once: 307, 200";
}

TEST_F(HubFilesTest, WorksOfflineFromTheCacheWithoutARequest) {
  read_file("hf://org/name/config.json");
  hub_.forget_requests();
  forget_hub_commits();
  const ScopedVariable offline("HF_HUB_OFFLINE", "1");
  EXPECT_EQ(read_file("hf://org/name/config.json"), kSmall);
  EXPECT_TRUE(exists("hf://org/name/vocab.txt"));
  EXPECT_THAT(
      error_of<UsageError>([] { read_file("hf://org/name/vocab.txt"); }),
      AllOf(HasSubstr("/vocab.txt: not in the cache, "), HasSubstr("and HF_HUB_OFFLINE is set"),
            HasSubstr("hint: unset HF_HUB_OFFLINE")));
  EXPECT_THAT(error_of<UsageError>([] { read_file("hf://org/other/vocab.txt"); }),
              HasSubstr("hub: hf://org/other: not in the cache"));
  EXPECT_THAT(hub_.requests(), IsEmpty());
}

TEST_F(HubFilesTest, UsesTheCacheIfTheHubIsUnreachable) {
  read_file("hf://org/name/config.json");
  forget_hub_commits();
  hub_.fault(R"([{"match": "^hub", "times": 99, "do": "status 503"}])");
  const CapturedLog log;
  EXPECT_EQ(read_file("hf://org/name/config.json"), kSmall);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("the Hub failed: HTTP status 503; using commit "),
                                HasSubstr("of hf://org/name from the cache")));
}

TEST_F(HubFilesTest, RefusesAPatternIfOnlyTheCachedFilesAreKnown) {
  hub_.add("datasets/org/data", "d/a.txt", "a");
  hub_.add("datasets/org/data", "d/b.txt", "b");
  read_file("hf://datasets/org/data/d/a.txt");
  forget_hub_commits();
  hub_.fault(R"([{"match": "^hub", "times": 99, "do": "status 503"}])");
  const auto expand = [] { return expand_files("hf://datasets/org/data/d/*.txt", "text.input"); };
  EXPECT_THAT(error_of<SystemError>([&] { (void)expand(); }),
              AllOf(HasSubstr("hub: hf://datasets/org/data/d/*.txt: the Hub is unreachable"),
                    HasSubstr("check the network")));
  EXPECT_EQ(read_file("hf://datasets/org/data/d/a.txt"), "a");
  forget_hub_commits();
  const ScopedVariable offline("HF_HUB_OFFLINE", "1");
  const CapturedLog log;
  EXPECT_THAT(expand(), ElementsAre("hf://datasets/org/data/d/a.txt"));
  EXPECT_THAT(log.text(), HasSubstr("the cache has no list of all files"));
}

TEST_F(HubFilesTest, SendsTheTokenToTheHubOnlyAndLogsNoSecret) {
  const ScopedVariable token("HF_TOKEN", "hf_reader");
  hub_.add("models/org/private", ".fake.json", R"({"private": true})");
  hub_.add("models/org/private", "config.json", kSmall);
  hub_.add("models/org/private", "model.bin", large());
  const CapturedLog log;
  EXPECT_EQ(read_file("hf://org/private/config.json"), kSmall);
  EXPECT_EQ(read_file("hf://org/private/model.bin"), large());
  EXPECT_EQ(hub_.count("cdn "), 1);
  EXPECT_EQ(hub_.count("auth=no"), 1);
  EXPECT_GT(hub_.count("auth=yes"), 3);
  EXPECT_THAT(log.text(), AllOf(Not(HasSubstr("hf_reader")), Not(HasSubstr("signed-secret"))));
}

TEST_F(HubFilesTest, FollowsARenamedRepository) {
  hub_.add("models/org/before", ".fake.json", R"({"moved_to": "org/name"})");
  EXPECT_EQ(read_file("hf://org/before/config.json"), kSmall);
}

TEST_F(HubFilesTest, NamesWhatDoesNotExist) {
  hub_.add("datasets/org/data", "a.txt", "a");
  const auto error = [](const std::string& path) {
    return error_of<UsageError>([&] { read_file(path); });
  };
  EXPECT_THAT(
      error("hf://org/none/x"),
      AllOf(HasSubstr("hub: hf://org/none: the Hub has no such repository, or it is private"),
            HasSubstr("run `hf auth login` or set HF_TOKEN")));
  EXPECT_THAT(error("hf://org/data/a.txt"),
              HasSubstr("hint: did you mean hf://datasets/org/data?"));
  EXPECT_THAT(
      error("hf://org/name@mian/config.json"),
      AllOf(HasSubstr("hf://org/name has no revision 'mian'"), HasSubstr("did you mean 'main'?")));
  EXPECT_THAT(error("hf://org/name/confg.json"),
              AllOf(HasSubstr("hf://org/name has no file 'confg.json'"),
                    HasSubstr("did you mean 'config.json'?")));
  EXPECT_THAT(error("hf://org/name/sub dir"), HasSubstr("is a folder, expected a file"));
  EXPECT_THAT(error("hf://org/name"), HasSubstr("is a repository, expected a file"));
}

TEST_F(HubFilesTest, NamesWhatMayNotBeRead) {
  hub_.add("models/org/gated", ".fake.json", R"({"gated": true})");
  hub_.add("models/org/gated", "config.json", kSmall);
  hub_.add("models/org/private", ".fake.json", R"({"private": true})");
  const auto error = [](const std::string& path) {
    forget_hub_commits();
    return error_of<UsageError>([&] { read_file(path); });
  };
  EXPECT_THAT(error("hf://org/gated/config.json"),
              AllOf(HasSubstr("this repository is gated: Access to org/gated is restricted"),
                    HasSubstr("accept its terms at " + hub_.endpoint() + "/org/gated, then run")));
  EXPECT_THAT(error("hf://org/private/x"), HasSubstr("no such repository, or it is private"));
  const ScopedVariable token("HF_TOKEN", "hf_wrong");
  EXPECT_THAT(error("hf://org/name/config.json"),
              AllOf(HasSubstr("the Hub rejects the access token from HF_TOKEN"),
                    Not(HasSubstr("hf_wrong"))));
}

TEST_F(HubFilesTest, JoinsAndSplitsPaths) {
  EXPECT_EQ(join_path("hf://org/name", "a"), "hf://org/name/a");
  EXPECT_EQ(join_path("hf://org/name@v1/dir?x=1", "a"), "hf://org/name@v1/dir?x=1/a");
  EXPECT_EQ(append_to_path("hf://org/name/a", ".json"), "hf://org/name/a.json");
  EXPECT_EQ(append_to_path("hf://org/name", ".index"), "hf://org/name/.index");
  EXPECT_EQ(path_name("hf://org/name/a?b=c"), "a?b=c");
  EXPECT_EQ(parent_path("hf://org/name/a"), "hf://org/name");
}

TEST_F(HubFilesTest, RefusesToWrite) {
  for (const auto& write : std::vector<std::function<void()>>{
           [] { write_file("hf://org/name/x", ""); }, [] { OutputDirectory("hf://org/new/x"); },
           [] { remove_file("hf://org/name/x"); }, [] { check_writable("hf://org/name"); }})
    EXPECT_THAT(error_of<UsageError>(write), AllOf(HasSubstr("smelt does not write to hf:// paths"),
                                                   HasSubstr("smelt hub push FOLDER ORG/NAME")));
}

TEST_F(HubFilesTest, ContinuesACutDownload) {
  hub_.fault(R"([{"match": "cdn GET", "times": 2, "do": "cut 2000"},
                 {"match": "cdn GET", "skip": 2, "do": "reset"}])");
  EXPECT_EQ(download(), "");
  EXPECT_EQ(hub_.count("cdn GET"), 4);
  // At the CDN the first is reset and sent again.
  EXPECT_EQ(hub_.count("range=bytes=4000-"), 3);
}

TEST_F(HubFilesTest, ContinuesTheDownloadOfAKilledProcess) {
  const HubCommit commit = hub_commit(parse_hub_path("hf://org/name"));
  const HubFile file = hub_files_below(commit, "").at("model.safetensors");
  const HubCache cache(hub_settings().cache, commit.path.repo);
  write_file(cache.blob(file.digest) + ".smelt.incomplete", large().substr(0, 3000));
  EXPECT_EQ(read_file("hf://org/name/model.safetensors"), large());
  EXPECT_EQ(hub_.count("range=bytes=3000-"), 2);
}

TEST_F(HubFilesTest, SurvivesExpiredLinksServerErrorsAndRateLimits) {
  hub_.fault(R"([{"match": "cdn GET", "times": 1, "do": "status 403"},
                 {"match": "hub GET .*resolve", "times": 2, "do": "ratelimit 7"},
                 {"match": "cdn GET", "skip": 1, "times": 1, "do": "status 502"},
                 {"match": "cdn GET", "skip": 2, "times": 1, "do": "short 100"}])");
  EXPECT_EQ(download(), "");
  EXPECT_THAT(waits_, testing::Contains(std::chrono::milliseconds(8000)));  // t=7: 8 s
}

TEST_F(HubFilesTest, BeginsAnewIfTheRangeIsIgnoredOrWrong) {
  hub_.fault(R"([{"match": "cdn GET", "do": "cut 2000"},
                 {"match": "cdn GET", "skip": 1, "do": "range"},
                 {"match": "cdn GET", "skip": 2, "do": "cut 3000"},
                 {"match": "cdn GET", "skip": 3, "do": "whole"}])");
  EXPECT_EQ(download(), "");
}

TEST_F(HubFilesTest, DownloadsAFileWithAWrongChecksumTwiceAndThenRefusesIt) {
  hub_.fault(R"([{"match": "cdn GET", "times": 1, "do": "corrupt"}])");
  const CapturedLog log;
  EXPECT_EQ(download(), "");
  EXPECT_THAT(log.text(), HasSubstr("wrong checksum; downloading the file again"));
  fs::remove_all(hub_.cache());
  hub_.fault(R"([{"match": "cdn GET", "times": 9, "do": "corrupt"}])");
  EXPECT_THAT(download(), AllOf(HasSubstr("model.safetensors: wrong checksum: found "),
                                HasSubstr(", expected ")));
  EXPECT_THAT(files_named(".incomplete"), IsEmpty());
  hub_.fault(R"([{"match": "resolve-cache", "times": 9, "do": "corrupt"}])");
  EXPECT_THAT(error_of<SystemError>([] { read_file("hf://org/name/vocab.txt"); }),
              HasSubstr("vocab.txt: wrong checksum"));
}

TEST_F(HubFilesTest, ReportsTheRateLimitAndAFailingHub) {
  hub_.fault(R"([{"match": "resolve", "times": 99, "do": "ratelimit 1"}])");
  EXPECT_THAT(download(), AllOf(HasSubstr("the Hub's rate limit is exceeded: too many requests"),
                                HasSubstr("set HF_TOKEN, which has a higher limit")));
  hub_.fault(R"([{"match": "resolve", "times": 99, "do": "status 500"}])");
  EXPECT_THAT(download(), HasSubstr("the Hub failed: HTTP status 500"));
  hub_.fault(R"([{"match": "cdn", "times": 99, "do": "reset"}])");
  EXPECT_THAT(download(), HasSubstr("run the command again: it continues the download"));
}

TEST_F(HubFilesTest, ReportsAFullDiskAndKeepsWhatWasDownloaded) {
  {
    const FileSizeLimit limit(3000);
    EXPECT_THAT(download(), AllOf(HasSubstr("the disk is full"), HasSubstr("set HF_HUB_CACHE")));
  }
  EXPECT_THAT(files_named(".incomplete"), testing::SizeIs(1));
  EXPECT_EQ(download(), "");
}

TEST_F(HubFilesTest, RefusesListsWithPathsOutsideOfTheRepository) {
  hub_.add("models/org/evil", "a.txt", "a");
  const HubCommit commit = hub_commit(parse_hub_path("hf://org/evil"));
  const HubCache cache(hub_settings().cache, commit.path.repo);
  // A damaged or malicious list in the cache is not used.
  write_file(str(hub_.cache(), "/models--org--evil/trees/", commit.commit, ".json"),
             R"({"format_version": 1, "files": {"../../x": {"size": 1, "blob_id": ")" +
                 std::string(40, 'a') + R"("}}})");
  EXPECT_FALSE(cache.read_tree(commit.commit).has_value());
  EXPECT_EQ(read_file("hf://org/evil/a.txt"), "a");
}

TEST_F(HubFilesTest, DownloadsEachFileOnceWithSeveralThreads) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] { EXPECT_EQ(read_file("hf://org/name/model.safetensors"), large()); });
  threads.clear();
  EXPECT_EQ(hub_.count("cdn GET"), 1);
}

}  // namespace
}  // namespace smelt::io
