// Runs the commands of docs/tutorials against stand-ins of Google's servers, in a folder without
// data: each page makes its own text. The pretrained weights are replaced by small models, the
// recipes by recipes of small models with the same names, and each test replaces the sizes in the
// commands of its page.
#include <gmock/gmock.h>
#include <unistd.h>

#include <deque>
#include <optional>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "cli/cloud/cloud_job.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pjrt/plugin_lock.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "support/server_process.h"

namespace smelt::cli {
namespace {

// Returns the lines of a page's code blocks that are marked sh.
std::string commands_of(const std::string& page) {
  std::istringstream lines(io::read_file(source_path("docs/tutorials/" + page)));
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

// Pairs of a text in a page's commands and its replacement.
using Replacements = std::vector<std::pair<std::string, std::string>>;

// Replaces every occurrence of each text. The test fails if the commands do not contain a text.
std::string replaced(std::string commands, const Replacements& replacements) {
  for (const auto& [from, to] : replacements) {
    std::size_t at = commands.find(from);
    EXPECT_NE(at, std::string::npos) << "the page has no " << from;
    for (; at != std::string::npos; at = commands.find(from, at + to.size()))
      commands.replace(at, from.size(), to);
  }
  return commands;
}

// Changes a recipe for a TPU to one for a CPU and a model of a few thousand parameters.
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
                                                        {"inputs_length", "32"},
                                                        {"d_model", "16"},
                                                        {"d_kv", "8"},
                                                        {"d_ff", "32"},
                                                        {"max_predictions", "5"},
                                                        {"batch_size", "8"},
                                                        {"steps", "4"},
                                                        {"warmup_steps", "1"},
                                                        {"save_interval_steps", "2"},
                                                        {"every", "2"},
                                                        {"logging_steps", "2"},
                                                        {"passes", "1"},
                                                        {"epochs", "1"},
                                                        {"heldout", "0.2"},
                                                        {"size", "60"}};
  for (const auto& [name, value] : kSizes)
    recipe = std::regex_replace(recipe, std::regex(str("\n( +)", name, ": [^\n]*")),
                                str("\n$1", name, ": ", value));
  return std::regex_replace(
      recipe, std::regex("\n  type: electra\n  size: 60"),
      "\n  type: electra\n  num_hidden_layers: 1\n  hidden_size: 64\n  embedding_size: 16");
}

constexpr const char* kPackage = "smelt-0.1.0-linux-x86_64.tar.zst";
constexpr const char* kOtherUsers = "/usr/lib/x86_64-linux-gnu/libnss_wrapper.so";
constexpr const char* kDeleted = "everything that the job created is deleted";

class Tutorials : public CloudJob {
 protected:
  explicit Tutorials(int workers = 1) : CloudJob(workers) {}
  void SetUp() override {
    REQUIRE_PLUGIN("tpu");
    if (::geteuid() == 0) {
      if (!io::exists(kOtherUsers)) SKIP_OR_FAIL_WITHOUT("sshd", "apt-get install libnss-wrapper");
      be_somebody();
    }
    CloudJob::SetUp();
    if (IsSkipped()) return;
    variables_.emplace_back("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE",
                            "http://" + emulator_->endpoint());
    variables_.emplace_back("GOOGLE_CLOUD_PROJECT", "p");
    variables_.emplace_back("CLOUDSDK_API_ENDPOINT_OVERRIDES_OPENIDCONNECT", google_.url(""));
    write_inputs();
    // Deletes the bucket of an earlier page: all tests of a process share the emulator.
    make("! smelt storage ls gs://my-models || smelt storage rm -r gs://my-models --all");
  }

  std::string file(const std::string& name) const { return home_.dir.file(name); }

  // Runs the page's commands in one shell and returns their output. Every command must succeed.
  std::string follow(const std::string& page, const Replacements& sizes = {}) {
    if (page != "google-cloud.md")
      make("smelt storage ls gs://my-models || smelt storage mb gs://my-models");
    io::write_file(file("page.sh"), "set -ex\n" + replaced(commands_of(page), sizes));
    const CommandOutput out = in_home("bash page.sh < /dev/null");
    EXPECT_EQ(out.status, 0) << out.text;
    EXPECT_TRUE(fake_.states().empty()) << "of machines that are left";
    return out.text;
  }
  void make(const std::string& command) const {
    const CommandOutput out = in_home(command);
    ASSERT_EQ(out.status, 0) << command << "\n" << out.text;
  }
  virtual std::string small(const std::string& recipe) const { return made_small(recipe); }

 private:
  CommandOutput in_home(const std::string& command) const {
    return run_command(
        str("cd ", home_.dir.path(), " && export PATH=", file("bin"), ":$PATH && ", command));
  }
  // smelt does not sign in to a machine as root, so tests that run as root use another user name.
  void be_somebody() {
    io::write_file(file("passwd"), str("somebody:x:0:0::", home_.dir.path(), ":/bin/sh\n",
                                       io::read_file("/etc/passwd")));
    variables_.emplace_back("NSS_WRAPPER_PASSWD", file("passwd"));
    variables_.emplace_back("NSS_WRAPPER_GROUP", "/etc/group");
    variables_.emplace_back("LD_PRELOAD", kOtherUsers);
  }
  // Writes the recipes, and text ("given") for the models that stand in for pretrained weights.
  void write_inputs() const {
    std::string text;
    for (int document = 0; document < 40; ++document) {
      for (int i = 0; i < 8; ++i) {
        // All sentences differ, because duplicates would be removed.
        const std::string sentence =
            str("The ", document % 3 == 0 ? "cat" : "dog", " ", document * 8 + i, " sees the ",
                i % 2 == 0 ? "tree" : "house", " of ", (document * i) % 7, " animals.");
        text += sentence + "\n";
      }
      text += "\n";
    }
    for (const char* folder : {"bin", "given", "recipes"}) io::make_folders(file(folder));
    io::write_file(file("given/a.txt"), text);
    for (const char* name : {"bert-continue", "bert-from-scratch", "bert-from-scratch-small",
                             "electra-small", "ttt-covid", "jestimator-bert-base", "t5-demo"})
      io::write_file(file(str("recipes/", name, ".yaml")),
                     small(io::read_file(source_path(str("recipes/", name, ".yaml")))));
    // A wrapper that adds flags to the page's commands: to confirm and poll, to reach the
    // stand-ins, and to measure one size instead of nine.
    io::write_file(
        file("bin/smelt"),
        str("#!/bin/sh\ncase \"$1 $2\" in\n"
            "'cloud run') set -- \"$@\" --yes --poll 0.2 --ssh-config ",
            servers_->config(), ";;\n'cloud watch') set -- \"$@\" --poll 0.2 --ssh-config ",
            servers_->config(), ";;\n'cloud ssh'|'cloud cp') set -- \"$@\" --ssh-config ",
            servers_->config(),
            ";;\n'compress report') set -- \"$@\" --batches 8 --lengths 32 --rounds "
            "2;;\nesac\nexec ",
            smelt_program(), " \"$@\"\n"));
    make(str("chmod +x bin/smelt && cp ", package(), " ", kPackage));
  }

  std::deque<ScopedVariable> variables_;
};

TEST_F(Tutorials, GoogleCloudSetup) {
  EXPECT_THAT(follow("google-cloud.md"), testing::HasSubstr("gs://my-models/\n"));
}

TEST_F(Tutorials, FirstModel) {
  make("cp -r given text");
  EXPECT_THAT(
      follow("first-model.md", {{"run my.yaml --small",
                                 "run my.yaml --small --set train.epochs=0 --set train.steps=2"},
                                {"train.steps=3000", "train.steps=4"}}),
      testing::HasSubstr("my-bert-small/huggingface contains step 4"));
}

TEST_F(Tutorials, FineTuneCompressAndExport) {
  make(
      "smelt run recipes/bert-from-scratch-small.yaml --set text.input='given/*.txt' --set out=m "
      "&& "
      "cp -r m/huggingface bert-base-uncased");
  const std::string init = "--set train.init_from=bert-base-uncased";
  EXPECT_THAT(
      follow("fine-tune.md", {{"run classify.yaml " + init,
                               str("run classify.yaml ", init, " --set data.seq_length=32")}}),
      testing::HasSubstr("my-classifier/huggingface contains step"));
  follow("compress-and-export.md");
  EXPECT_TRUE(io::exists(file("small-onnx/tokenizer.json")));
}

TEST_F(Tutorials, ContinuedBertPretraining) {
  make(
      "smelt run recipes/bert-from-scratch-small.yaml --set text.input='given/*.txt' --set out=m "
      "--set vocab.lower_case=false && smelt convert m "
      "multi_cased_L-12_H-768_A-12/bert_model.ckpt && cp m/vocab.txt m/tokenizer_config.json "
      "multi_cased_L-12_H-768_A-12");
  EXPECT_THAT(follow("bert-continued.md",
                     {{"--max_seq_length=128", "--max_seq_length=32"},
                      {"--max_predictions_per_seq=20", "--max_predictions_per_seq=5"}}),
              testing::HasSubstr(kDeleted));
}

TEST_F(Tutorials, BertFromScratch) {
  EXPECT_THAT(follow("bert-from-scratch.md", {{"--size 32000", "--size 200"}}),
              testing::HasSubstr(kDeleted));
}

TEST_F(Tutorials, ElectraFromScratch) {
  const std::string small =
      R"("vocab_size": 200, "num_train_steps": 2, "num_warmup_steps": 1, "train_batch_size": 8, )"
      R"("max_seq_length": 32, "embedding_size": 16, "model_hparam_overrides": )"
      R"({"num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 64}})";
  EXPECT_THAT(
      follow("electra.md", {{"--size 30522", "--size 200"},
                            {"--max-seq-length 128", "--max-seq-length 32"},
                            {R"("vocab_size": 30522, "num_train_steps": 1000000})", small}}),
      testing::HasSubstr(kDeleted));
}

TEST_F(Tutorials, T5FineTuning) {
  make(
      "smelt run recipes/t5-demo.yaml --set text.input='given/*.txt' --set out=t5 && "
      "cp -r t5/huggingface t5-small");
  EXPECT_THAT(follow("t5-finetuned.md", {{"--max_src_length 256", "--max_src_length 32"},
                                         {"--num_epochs_train 6", "--num_epochs_train 1"}}),
              testing::HasSubstr(kDeleted));
}

// A tutorial with four hosts, whose processes form a pod of the stand-in plugin.
class PodTutorial : public Tutorials {
 protected:
  PodTutorial() : Tutorials(kHosts) { fake_.zones[cloud::kZone].types.emplace_back("v2-32"); }
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    pod_.emplace(distributed::PodSize{.processes = kHosts, .devices_each = 8},
                 std::vector<std::string>{"--platform", "tpu"});
    Tutorials::SetUp();
    if (!IsSkipped())
      for (int worker = 0; worker < kHosts; ++worker) mark_libtpu_as_installed(worker);
  }
  // The workers use the stand-in plugin. The tutorials with one host test the installation of
  // libtpu.
  void mark_libtpu_as_installed(int worker) const {
    const std::string folder = worker_home(worker) + "/.local/share/smelt/tpu";
    std::string requirements;
    for (const pjrt::Wheel& wheel : pjrt::plugin_wheels("tpu")) requirements += wheel.requirement;
    io::make_folders(folder);
    io::write_file(str(folder, "/", pjrt::kWheelsFile), requirements);
  }
  std::string environment_of(int worker) const override {
    return pod_environment(*pod_, kHosts, worker, hub_);
  }
  std::string small(const std::string& recipe) const override {
    return std::regex_replace(
        std::regex_replace(made_small(recipe), std::regex("device: cpu"), "device: tpu"),
        std::regex("batch_size: 8"), "batch_size: 32");
  }

  static constexpr int kHosts = 4;
  const std::string hub_ = str("127.0.0.1:", free_port());
  std::optional<distributed::Pod> pod_;
};

TEST_F(PodTutorial, JestimatorOnATpuPod) {
  EXPECT_THAT(follow("jestimator.md"), testing::HasSubstr(kDeleted));
}

}  // namespace
}  // namespace smelt::cli
