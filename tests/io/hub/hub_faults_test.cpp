// Downloads and pushes under 300 random faults of the Hub, its CDN and the network. Each ends with
// the right bytes or one error message, nothing is published or cached partially, and the token is
// sent to no other server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/http/http.h"
#include "io/hub/hub_files.h"
#include "io/hub/hub_push.h"
#include "support/captured_log.h"
#include "support/environment.h"
#include "support/fake_hub.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Shas = std::map<std::string, std::string>;  // SHA-256 of the files of a commit by path

constexpr int kRounds = 300;
constexpr std::array kFaults{"status 500", "status 502",  "status 503",    "status 408",
                             "status 404", "status 403",  "cut 0",         "cut 700",
                             "short 20",   "reset",       "range",         "whole",
                             "corrupt",    "ratelimit 3", "retry-after 2", "move",
                             "redirect",   "mistyped",    "commit",        "commit 412"};
constexpr std::array kReads{"hub GET .*/revision/", "hub GET .*/tree/", "hub GET .*/resolve/",
                            "hub GET .*resolve-cache", "cdn GET"};
constexpr std::array kWrites{"hub POST /api/repos/create",
                             "hub GET .*/revision/",
                             "hub GET .*/tree/",
                             "hub POST .*/preupload/main",
                             "hub POST .*/batch",
                             "cdn PUT",
                             "cdn POST",
                             "hub POST .*/verify",
                             "hub POST .*/commit/main",
                             "hub POST /api/validate-yaml",
                             "hub POST .*/commit/",
                             "cdn PUT"};

// A text of `size` bytes that differs between rounds.
std::string weights(int round, std::size_t size) {
  std::string out;
  while (out.size() < size) out += str("round ", round, " at ", out.size(), "\n");
  return out.substr(0, size);
}

class HubFaults : public testing::Test {
 protected:
  HubFaults() {
    replace_hub_waits([](std::chrono::milliseconds) {});
  }
  ~HubFaults() override { replace_hub_waits({}); }

  // Lets 1 to 4 random faults happen.
  template <std::size_t kCount>
  std::string draw_faults(const std::array<const char*, kCount>& places, int round) {
    Json rules = Json::array();
    const unsigned count = 1 + random_() % 4;
    for (unsigned i = 0; i < count; ++i)
      rules.push_back({{"match", places[random_() % places.size()]},
                       {"skip", random_() % 3},
                       {"times", random_() % 4 == 0 ? 9 : 1 + random_() % 2},
                       {"do", kFaults[random_() % kFaults.size()]},
                       {"round", round}});
    hub_.fault(rules.dump());
    return rules.dump();
  }

  // Runs `work`. Returns "" or its error, which must be one message without secrets. Checks the
  // log, too.
  template <class Work>
  std::string attempt(Work work) {
    const CapturedLog log;
    std::string error;
    try {
      work();
    } catch (const UsageError& refused) {
      error = refused.what();
    } catch (const SystemError& failed) {
      error = failed.what();
    } catch (const std::exception& other) {
      ADD_FAILURE() << "an error of another kind: " << other.what();
    }
    for (const std::string& text : {error, log.text()})
      EXPECT_THAT(text, AllOf(Not(HasSubstr("hf_writer")), Not(HasSubstr("signed-secret"))));
    if (error.empty()) return "";
    EXPECT_THAT(error, testing::AnyOf(HasSubstr("hub: "), HasSubstr("127.0.0.1")));
    EXPECT_EQ(error_parts(error).what.find('\n'), std::string::npos) << error;
    return error;
  }

  // Returns the newest commits of a repository and the name of the last, from the stand-in.
  std::map<std::string, Shas> commits(const std::string& repo, std::string& main) {
    const HttpAnswer answer = http_.send({.url = str(hub_.endpoint(), "/fake/models/", repo)});
    const Json state = Json::parse(answer.body);
    main = state["main"].get<std::string>();
    std::map<std::string, Shas> out;
    for (const auto& [sha, files] : state["commits"].items())
      for (const auto& [path, digest] : files.items()) out[sha][path] = digest.string();
    return out;
  }

  // No request with a token reached the other server.
  void expect_no_token_elsewhere() const {
    for (const std::string& line : hub_.requests())
      EXPECT_TRUE(!line.starts_with("cdn") || line.find("auth=no") != std::string::npos) << line;
  }

  const FakeHub hub_;
  const TempDir dir_;
  const ScopedVariable token_{"HF_TOKEN", "hf_writer"};
  HttpClient http_;
  // SMELT_FAULT_SEED=N draws other faults.
  std::mt19937 random_{static_cast<unsigned>(std::atoi(
      std::getenv("SMELT_FAULT_SEED") == nullptr ? "48" : std::getenv("SMELT_FAULT_SEED")))};
  int failed_ = 0, succeeded_ = 0;
};

class HubDownloadFaults : public HubFaults {
 protected:
  // Reads all files of the repository and checks that they are those of one commit.
  std::string read_all() {
    return attempt([&] {
      forget_hub_commits();
      const std::string root = hub_at_commit("hf://org/name");
      std::map<std::string, std::string> found;
      for (const char* name : {"config.json", "model.safetensors", "vocab.txt"})
        found[name] = digest_of_text(read_file(str(root, "/", name)), true).hex;
      std::string main;
      const auto all = commits("org/name", main);
      const auto commit = all.find(parse_hub_path(root).revision);
      if (commit == all.end()) throw SystemError("hub: 127.0.0.1: no commit was found");
      for (const auto& [name, digest] : found) EXPECT_EQ(digest, commit->second.at(name)) << name;
    });
  }
  // Every file under a final name in the cache has the content that its name states.
  void expect_intact_cache() const {
    const std::string root = hub_.cache() + "/models--org--name";
    if (!fs::exists(root + "/blobs")) return;
    for (const auto& entry : fs::directory_iterator(root + "/blobs")) {
      const std::string name = entry.path().filename();
      if (name.ends_with(".incomplete")) continue;
      EXPECT_EQ(digest_of_file(entry.path(), name.size() == 64).hex, name);
    }
    for (const auto& entry : fs::recursive_directory_iterator(root + "/snapshots"))
      EXPECT_TRUE(!entry.is_symlink() || fs::exists(entry.path())) << entry.path();
  }
};

TEST_F(HubDownloadFaults, GiveTheRightBytesOrOneMessage) {
  hub_.add("models/org/name", "vocab.txt", "[PAD]\n");
  for (int round = 0; round < kRounds / 2; ++round) {
    hub_.add("models/org/name", "config.json", str("{\"round\": ", round, "}\n"));
    hub_.add("models/org/name", "model.safetensors", weights(round, 5000));
    if (round % 3 == 0) fs::remove_all(hub_.cache());
    const std::string rules = draw_faults(kReads, round);
    SCOPED_TRACE(rules);
    const bool is_done = read_all().empty();
    ++(is_done ? succeeded_ : failed_);
    expect_intact_cache();
    if (is_done) continue;
    hub_.fault("[]");
    EXPECT_EQ(read_all(), "") << "the next try";
    expect_intact_cache();
  }
  expect_no_token_elsewhere();
  EXPECT_GT(succeeded_, kRounds / 10);
  EXPECT_GT(failed_, kRounds / 10);
}

class HubPushFaults : public HubFaults {
 protected:
  std::string push(int round) {
    HubPush push{.repo = {.id = repo(round)},
                 .files = {{"README.md", "", str("---\nlicense: mit\n---\nround ", round, "\n")}},
                 .message = "test"};
    for (const char* name : {"config.json", "model.safetensors"})
      push.files.push_back({name, dir_.file(name)});
    return attempt([&] {
      HubClient client(hub_settings(), HubPatience::patient, TokenUse::asked);
      const HubPushed done = push_to_hub(client, push);
      EXPECT_TRUE(is_commit(done.commit)) << done.commit;
    });
  }
  static std::string repo(int round) { return str("lab/p", round / 4); }

  // Returns whether main has the files of this round. Fails if it has some of them only.
  bool is_published(int round) {
    std::string main;
    const auto all = commits(repo(round), main);
    if (main.empty()) return false;
    const Shas& files = all.at(main);
    int same = 0;
    for (const char* name : {"config.json", "model.safetensors"}) {
      const auto found = files.find(name);
      same += found != files.end() && found->second == digest_of_file(dir_.file(name), true).hex;
    }
    EXPECT_NE(same, 1) << "published by halves";
    EXPECT_EQ(files.contains("config.json"), files.contains("model.safetensors"));
    return same == 2;
  }
};

TEST_F(HubPushFaults, PublishAllFilesOrNone) {
  for (int round = 0; round < kRounds / 2; ++round) {
    write_file(dir_.file("config.json"), str("{\"round\": ", round, "}\n"));
    // In one part, or in several.
    write_file(dir_.file("model.safetensors"), weights(round, round % 2 == 0 ? 900 : 2500));
    const std::string rules = draw_faults(kWrites, round);
    SCOPED_TRACE(rules);
    const std::string error = push(round);
    ++(error.empty() ? succeeded_ : failed_);
    const bool is_there = is_published(round);
    EXPECT_TRUE(!error.empty() || is_there);
    EXPECT_TRUE(!is_there || error.find("nothing was changed") == std::string::npos);
    if (error.empty()) continue;
    hub_.fault("[]");
    EXPECT_EQ(push(round), "") << "the next try";
    EXPECT_TRUE(is_published(round));
  }
  expect_no_token_elsewhere();
  EXPECT_GT(succeeded_, kRounds / 10);
  EXPECT_GT(failed_, kRounds / 10);
}

TEST_F(HubPushFaults, WaitForTheRateLimitOfTheCommit) {
  write_file(dir_.file("config.json"), "{}\n");
  write_file(dir_.file("model.safetensors"), weights(0, 900));
  hub_.fault(R"([{"match": "/commit/main", "times": 2, "do": "retry-after 7"}])");
  EXPECT_EQ(push(0), "");
  EXPECT_EQ(hub_.count("/commit/main"), 3);
  write_file(dir_.file("config.json"), "{ }\n");
  write_file(dir_.file("model.safetensors"), weights(1, 900));
  hub_.fault(R"([{"match": "/commit/main", "times": 99, "do": "ratelimit 3"}])");
  EXPECT_THAT(push(0), AllOf(HasSubstr("the Hub's rate limit is exceeded: too many requests"),
                             HasSubstr("run the command again in five minutes")));
  EXPECT_FALSE(is_published(0));
}

}  // namespace
}  // namespace smelt::io
