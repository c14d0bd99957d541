// The commands of docs/tutorials, as they stand there, against stand-ins of Google's servers: with
// small text, and recipes of small models under the names that the pages use.
#include <gmock/gmock.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "cloud/ssh_servers.h"
#include "cloud/tpu_test.h"
#include "store/file.h"
#include "store/folder.h"
#include "support/command.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt {
namespace {

// The lines of a page's blocks that are marked sh.
std::string commands_of(const std::string& page) {
  std::istringstream lines(read_file(source_path("docs/tutorials/" + page)));
  std::string out;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```"))
      inside = line == "```sh";
    else if (inside)
      out += line + "\n";
  }
  return out;
}

// A recipe of a TPU's model made one of a few thousand parameters for a CPU.
std::string made_small(std::string recipe) {
  const std::pair<const char*, const char*> kSizes[] = {{"device", "cpu"},
                                                        {"devices", "1"},
                                                        {"reduction", "global"},
                                                        {"hidden_size", "16"},
                                                        {"num_hidden_layers", "1"},
                                                        {"num_layers", "1"},
                                                        {"num_attention_heads", "2"},
                                                        {"num_heads", "2"},
                                                        {"intermediate_size", "32"},
                                                        {"mlp_size", "32"},
                                                        {"max_position_embeddings", "32"},
                                                        {"max_length", "32"},
                                                        {"seq_length", "32"},
                                                        {"inputs_length", "16"},
                                                        {"max_predictions", "5"},
                                                        {"batch_size", "8"},
                                                        {"steps", "4"},
                                                        {"warmup_steps", "1"},
                                                        {"save_every", "2"},
                                                        {"every", "2"},
                                                        {"log_every", "2"},
                                                        {"passes", "1"},
                                                        {"epochs", "1"},
                                                        {"heldout", "0.2"},
                                                        {"size", "60"}};
  for (const auto& [name, value] : kSizes)
    recipe = std::regex_replace(recipe, std::regex(str("\n  ", name, ": [^\n]*")),
                                str("\n  ", name, ": ", value));
  return std::regex_replace(
      recipe, std::regex("\n  type: electra\n  size: 60"),
      "\n  type: electra\n  num_hidden_layers: 1\n  hidden_size: 64\n  embedding_size: 16");
}

constexpr const char* kPackage = "smelt-0.1.0-linux-x86_64.tar.zst";

class Tutorials : public TpuTest {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    REQUIRE_PLUGIN("tpu");
    REQUIRE_ORACLE();
    if (ssh_server_program().empty())
      SKIP_OR_FAIL_WITHOUT("sshd", "apt-get install openssh-server");
    if (::geteuid() == 0) be_somebody();
    emulator_ = std::make_unique<GcsEmulator>();
    const std::string storage = "http://" + emulator_->endpoint();
    variables_.emplace_back("CLOUD_STORAGE_EMULATOR_ENDPOINT", storage);
    variables_.emplace_back("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", storage + "/");
    variables_.emplace_back("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", guarded_.url(""));
    variables_.emplace_back("GOOGLE_CLOUD_PROJECT", "p");
    make_folders(file("worker"));
    servers_ = std::make_unique<SshServers>(
        1, str("HOME=", file("worker"), " GCE_METADATA_HOST=127.0.0.1:1 ",
               "CLOUD_STORAGE_EMULATOR_ENDPOINT=", storage));
    fake_.addresses = servers_->addresses();
    fake_.host_keys = servers_->host_keys();
    fake_.completes_unasked = true;
    fake_.polls = 1;
    fake_.on_metadata = [this](const nlohmann::json& metadata) { servers_->take(metadata); };
    write_inputs();
  }

  std::string file(const std::string& name) const { return home_.dir.file(name); }

  // Until smelt storage mb is there.
  void make_bucket() const {
    make(
        str("curl -sf -X POST -H 'Content-Type: application/json' -d "
            "'{\"name\":\"my-models\",\"location\":\"US-CENTRAL1\"}' 'http://",
            emulator_->endpoint(), "/storage/v1/b?project=p'"));
  }

  // The page's commands end well, each of them, in one shell; what they said.
  std::string follow(const std::string& page) {
    write_file(file("page.sh"), "set -ex\n" + commands_of(page));
    const CommandOutput out = in_home("bash page.sh < /dev/null");
    EXPECT_EQ(out.status, 0) << out.text;
    EXPECT_TRUE(fake_.states().empty()) << "of machines that are left";
    return out.text;
  }

  CommandOutput in_home(const std::string& command) const {
    return run_command(
        str("cd ", home_.dir.path(), " && export PATH=", file("bin"), ":$PATH && ", command));
  }
  void make(const std::string& command) const {
    const CommandOutput out = in_home(command);
    ASSERT_EQ(out.status, 0) << command << "\n" << out.text;
  }

 private:
  // Root does not sign in to a machine; tests that are root's go by another name.
  void be_somebody() {
    write_file(file("passwd"),
               str("somebody:x:0:0::", home_.dir.path(), ":/bin/sh\n", read_file("/etc/passwd")));
    variables_.emplace_back("NSS_WRAPPER_PASSWD", file("passwd"));
    variables_.emplace_back("NSS_WRAPPER_GROUP", "/etc/group");
    variables_.emplace_back("LD_PRELOAD", "libnss_wrapper.so");
  }

  void write_inputs() const {
    std::string text, rows;
    for (int document = 0; document < 40; ++document) {
      for (int i = 0; i < 8; ++i) {
        // No two are the same, or they would be left out.
        const std::string sentence =
            str("The ", document % 3 == 0 ? "cat" : "dog", " ", document * 8 + i, " sees the ",
                i % 2 == 0 ? "tree" : "house", " of ", (document * i) % 7, " animals.");
        text += sentence + "\n";
        rows += str(R"({"text": ")", sentence, R"(", "label": ")",
                    document % 2 == 0 ? "INFORMATIVE" : "UNINFORMATIVE", "\"}\n");
      }
      text += "\n";
    }
    for (const char* folder : {"bin", "text", "recipes", "data/covid_info", "pack/smelt/bin"})
      make_folders(file(folder));
    write_file(file("text/a.txt"), text);
    write_file(file("data/covid_info/train.json"), rows);
    write_file(file("data/covid_info/val.json"), rows);
    for (const char* name : {"bert-continue", "bert-from-scratch", "bert-from-scratch-small",
                             "electra-small", "ttt-covid", "jestimator-bert-base", "t5-demo"})
      write_file(file(str("recipes/", name, ".yaml")),
                 made_small(read_file(source_path(str("recipes/", name, ".yaml")))));
    // What a user types, and how the stand-ins are reached.
    write_file(file("bin/smelt"),
               str("#!/bin/sh\ncase \"$1 $2\" in\n"
                   "'cloud run') set -- \"$@\" --yes --poll 0.2 --ssh-config ",
                   servers_->config(), ";;\n'cloud watch') set -- \"$@\" --poll 0.2 --ssh-config ",
                   servers_->config(), ";;\n'cloud ssh'|'cloud cp') set -- \"$@\" --ssh-config ",
                   servers_->config(), ";;\n'storage rm') set -- \"$@\" --yes;;\nesac\nexec ",
                   smelt_program(), " \"$@\"\n"));
    write_file(file("pack/smelt/bin/smelt"), str("#!/bin/sh\nexec ", smelt_program(), " \"$@\"\n"));
    make(str("chmod +x bin/smelt pack/smelt/bin/smelt && tar --zstd -C pack -cf ", kPackage,
             " smelt"));
  }

  std::mutex mutex_;
  HttpServer guarded_{[this](const ServedRequest& request) {
    const std::lock_guard lock(mutex_);
    return fake_.serve(request);
  }};
  std::deque<ScopedVariable> variables_;
  std::unique_ptr<GcsEmulator> emulator_;
  std::unique_ptr<SshServers> servers_;
};

constexpr const char* kDeleted = "all that the job made is deleted";

TEST_F(Tutorials, BertIsContinued) {
  make_bucket();
  make(
      "smelt run recipes/bert-from-scratch-small.yaml --set text.input='text/*.txt' --set out=m "
      "--set vocab.lower_case=false && smelt convert m "
      "multi_cased_L-12_H-768_A-12/bert_model.ckpt && cp m/vocab.txt "
      "multi_cased_L-12_H-768_A-12");
  EXPECT_THAT(follow("bert-continued.md"), testing::HasSubstr(kDeleted));
}

TEST_F(Tutorials, BertFromScratch) {
  make_bucket();
  EXPECT_THAT(follow("bert-from-scratch.md"), testing::HasSubstr(kDeleted));
}

TEST_F(Tutorials, Electra) {
  make_bucket();
  EXPECT_THAT(follow("electra.md"), testing::HasSubstr(kDeleted));
}

TEST_F(Tutorials, T5IsFineTuned) {
  make_bucket();
  make(
      "smelt run recipes/t5-demo.yaml --set text.input='text/*.txt' --set out=t5 && "
      "cp -r t5/huggingface t5-small");
  EXPECT_THAT(follow("t5-finetuned.md"), testing::HasSubstr(kDeleted));
}

}  // namespace
}  // namespace smelt
