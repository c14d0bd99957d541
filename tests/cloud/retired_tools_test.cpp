// Command lines of ctpu and of gcloud's tpu-vm, as the old tutorials give them.
#include <gmock/gmock.h>

#include "cloud/machines.h"
#include "cloud/tpu_test.h"
#include "io/filesystem/file.h"
#include "support/command.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RetiredToolsTest : public TpuTest {
 protected:
  RetiredToolsTest() { fake_.polls = 1; }
  const ScopedVariable project_{"GOOGLE_CLOUD_PROJECT", "p"};
  const ScopedVariable zone_{"CLOUDSDK_COMPUTE_ZONE"};
};

TEST_F(RetiredToolsTest, CtpuCreatesATpuVmAndPrintsTheNewCommand) {
  const ScopedVariable zone("CLOUDSDK_COMPUTE_ZONE", kZone);
  const CommandOutput up = run_smelt(
      "ctpu up --name=test-tpu --tpu-size=v3-8 --preemptible --tf-version=1.15 "
      "--machine-type=n1-standard-2 --noconf");
  EXPECT_EQ(up.status, 0) << up.text;
  EXPECT_THAT(
      up.text,
      AllOf(HasSubstr("note: --tf-version is ignored: smelt needs no TensorFlow\n"),
            HasSubstr("note: --machine-type is ignored: a TPU VM is its own host"),
            HasSubstr("now: smelt cloud up test-tpu --type v3-8 --zone us-central1-a --spot "
                      "--yes\n")));
  EXPECT_TRUE(tpu_.node(kZone, "test-tpu")->is_spot);
  EXPECT_THAT(run_smelt("ctpu status --name=test-tpu --details").text,
              HasSubstr("now: smelt cloud status test-tpu\ntest-tpu: v3-8, spot"));
  EXPECT_THAT(run_smelt("ctpu list").text, HasSubstr("test-tpu"));
  EXPECT_THAT(run_smelt("ctpu status").text,
              AllOf(HasSubstr("now: smelt cloud list\n"), HasSubstr("test-tpu")));
  EXPECT_THAT(run_smelt("ctpu version").text, testing::StartsWith("smelt "));
  EXPECT_THAT(run_smelt("ctpu pause --name=test-tpu").text,
              HasSubstr("is a spot machine, which cannot be started or stopped"));
  EXPECT_THAT(run_smelt("ctpu delete --name=test-tpu --dry-run").text,
              "now: smelt cloud down test-tpu --zone us-central1-a\n");
  EXPECT_TRUE(tpu_.node(kZone, "test-tpu"));
  EXPECT_THAT(run_smelt("ctpu --name=test-tpu delete --noconf").text, HasSubstr("deleted\n"));
  EXPECT_FALSE(tpu_.node(kZone, "test-tpu"));
}

TEST_F(RetiredToolsTest, UsesGcloudsZone) {
  io::write_file(home_.dir.file(".config/gcloud/configurations/config_default"),
                 "[core]\nzone = not-this-1\n[compute]\nzone = europe-west4-a\n");
  EXPECT_THAT(run_smelt("ctpu up --name=a --tpu-size=v3-8 --dry-run").text,
              HasSubstr("now: smelt cloud up a --type v3-8 --zone europe-west4-a --dry-run\n"));
}

TEST_F(RetiredToolsTest, RejectsUnsupportedCtpuOptions) {
  const std::string where = " --zone us-central1-a --noconf";
  expect_refusal("ctpu up --name=test_tpu --tpu-size=v3-8" + where,
                 AllOf(HasSubstr("the name 'test_tpu' is not allowed"),
                       HasSubstr("hint: use a name such as test-tpu")));
  expect_refusal("ctpu up --name=a --tpu-size=v3-9" + where, HasSubstr("did you mean 'v3-8'?"));
  expect_refusal("ctpu up --name=a --vm-only" + where,
                 HasSubstr("a TPU VM always includes its TPU"));
  expect_refusal("ctpu up --name=a", AllOf(HasSubstr("ctpu up: no zone given"),
                                           HasSubstr("gcloud config set compute/zone")));
  // ctpu was written in Go, whose flags may have a single dash.
  EXPECT_THAT(run_smelt("ctpu up -name=a -tpu-size v3-8 --dry-run" + where).text,
              HasSubstr("now: smelt cloud up a --type v3-8 "));
  expect_refusal("ctpu up --nmae=a" + where, HasSubstr("did you mean '--name'?"));
  EXPECT_TRUE(tpu_.nodes(kAllZones).items.empty());
}

TEST_F(RetiredToolsTest, TranslatesGcloudCommands) {
  const CommandOutput made = run_smelt(
      "tpu-vm create pod --zone=us-central1-a --accelerator-type=v2-8 --quiet --preemptible "
      "--version=tpu-ubuntu2204-base --labels=team=nlp,run=1 --metadata=a=b");
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_THAT(made.text,
              HasSubstr("now: smelt cloud up pod --type v2-8 --zone us-central1-a "
                        "--runtime-version tpu-ubuntu2204-base --spot --label team=nlp --label "
                        "run=1 --metadata a=b --yes\n"));
  EXPECT_EQ(tpu_.node(kZone, "pod")->labels.at("run"), "1");
  EXPECT_THAT(run_smelt("tpu-vm list --zone us-central1-a --format=json").text,
              HasSubstr(R"("name":"pod")"));
  EXPECT_THAT(run_smelt("tpu-vm describe pod --zone us-central1-a").text, HasSubstr("state:"));
  EXPECT_THAT(run_smelt("tpu-vm stop pod --zone us-central1-a").text, HasSubstr("spot machine"));
  EXPECT_THAT(run_smelt("tpu-vm delete pod --zone us-central1-a --quiet").text,
              HasSubstr("deleted\n"));
}

TEST_F(RetiredToolsTest, GcloudSshReachesTheWorkers) {
  bring_up(tpu_, "p", {"pod", {kZone}, {"v2-8", "x"}},
           {[](std::chrono::milliseconds) {}, [](const std::string&) {}});
  const std::string flags = " --zone us-central1-a --worker=all --dry-run";
  EXPECT_THAT(
      run_smelt("tpu-vm ssh me@pod --command='ls -l' --ssh-flag='-o Compression=yes'" + flags).text,
      AllOf(HasSubstr("now: smelt cloud ssh me@pod --command 'ls -l' --worker all --zone "
                      "us-central1-a --ssh-option "),
            HasSubstr("1.2.3.4")));
  EXPECT_THAT(run_smelt("tpu-vm scp --recurse folder me@pod:" + flags).text,
              HasSubstr("now: smelt cloud cp folder me@pod: --worker all"));
  // Arguments after -- are passed to ssh.
  EXPECT_THAT(
      run_smelt("tpu-vm ssh me@pod --zone us-central1-a --dry-run -- -L 6006:localhost:6006").text,
      AllOf(HasSubstr("--dry-run -- -L 6006:localhost:6006\n"),
            HasSubstr("'-L' '6006:localhost:6006' '-l' 'me' '--' '1.2.3.4'")));
  expect_refusal("cloud ssh me@pod nproc --dry-run",
                 AllOf(HasSubstr("'nproc' is not an ssh flag"), HasSubstr("--command 'nproc'")));
  expect_refusal("tpu-vm ssh pod --ssh-flag=-A", HasSubstr("'-A' is not an ssh option"));
  expect_refusal("tpu-vm ssh pod --tunnel-through-iap",
                 HasSubstr("--tunnel-through-iap is not supported"));
  expect_refusal("tpu-vm list --format='value(name)'", HasSubstr("only json is supported"));
  expect_refusal("tpu-vm create x --zone us-central1-a --version=tpu-vm-base",
                 HasSubstr("tpu-vm-base is Ubuntu 20.04"));
}

}  // namespace
}  // namespace smelt::cloud
