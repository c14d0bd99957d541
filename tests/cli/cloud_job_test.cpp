// A whole job on stand-ins: the fake TPU API, a real sshd as the machine's worker, a bucket.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/run_program.h"
#include "cli/job_options.h"
#include "cli/job_recipe.h"
#include "cli/job_watch.h"
#include "cloud/file_hash.h"
#include "cloud/job_shell.h"
#include "cloud/remote_job.h"
#include "cloud/ssh_servers.h"
#include "cloud/tpu_test.h"
#include "store/file.h"
#include "store/folder.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/plugins.h"

namespace smelt {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CloudJob : public TpuTest {
 protected:
  // One for all: a process finds its object store once.
  static void TearDownTestSuite() { emulator_.reset(); }
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    REQUIRE_ORACLE();
    if (ssh_server_program().empty())
      SKIP_OR_FAIL_WITHOUT("sshd", "apt-get install openssh-server");
    if (!emulator_) emulator_ = std::make_unique<GcsEmulator>();
    emulator_->fault("[]");
    endpoint_.emplace("CLOUD_STORAGE_EMULATOR_ENDPOINT", "http://" + emulator_->endpoint());
    make_folders(worker_home());
    servers_ = std::make_unique<SshServers>(1, str("HOME=", worker_home(),
                                                   " GCE_METADATA_HOST=127.0.0.1:1 "
                                                   "CLOUD_STORAGE_EMULATOR_ENDPOINT=http://",
                                                   emulator_->endpoint()));
    fake_.addresses = servers_->addresses();
    fake_.host_keys = servers_->host_keys();
    fake_.completes_unasked = true;
    fake_.polls = 1;
    fake_.on_metadata = [this](const nlohmann::json& metadata) { servers_->take(metadata); };
    write_inputs();
  }
  void TearDown() override {
    for (const char* pid : {"/.smelt-guard/pid", "/.smelt-job/pid"})
      if (exists(worker_home() + pid)) ::kill(-std::stoi(read_file(worker_home() + pid)), SIGKILL);
  }

  std::string worker_home() const { return home_.dir.file("worker"); }
  void write_inputs() const {
    std::string text;
    for (int document = 0; document < 40; ++document) {
      for (int i = 0; i < 8; ++i)
        text += str("the ", (document * i) % 3 == 0 ? "cat" : "dog", " sees house ", i % 5, ".\n");
      text += "\n";
    }
    write_file(home_.dir.file("text.txt"), text);
    write_file(home_.dir.file("r.yaml"),
               str("text: {input: ", home_.dir.file("te*.txt"),
                   ", sentences: lines, dedup: none, heldout: 0.2}\nvocab: {size: 60}\n"
                   "data: {seq_length: 32, max_predictions: 5}\nmodel: {hidden_size: 16, "
                   "num_hidden_layers: 1, num_attention_heads: 2,\n  intermediate_size: 32, "
                   "max_position_embeddings: 32}\ntrain: {batch_size: 8, steps: 20, "
                   "warmup_steps: 2, save_every: 10, log_every: 10}\neval: {batch_size: 4}\n"));
    const std::string folder = home_.dir.file("pack/smelt/bin");
    make_folders(folder);
    write_file(folder + "/smelt", str("#!/bin/sh\nexec ", smelt_program(), " \"$@\"\n"));
    const CommandOutput packed =
        run_command(str("chmod +x ", folder, "/smelt && tar --zstd -C ", home_.dir.file("pack"),
                        " -cf ", package(), " smelt"));
    ASSERT_EQ(packed.status, 0) << packed.text;
  }
  static std::string folder() {
    return str("gs://bucket/", testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  std::string package() const { return home_.dir.file("smelt.tar.zst"); }
  std::string out() const { return home_.dir.file("result"); }

  JobLead lead() const {
    JobLead lead;
    JobSpec& spec = lead.journal.spec;
    spec.run = "abc123";
    spec.project = "p";
    spec.zones = {{kZone, 2.4}};
    spec.node = {"v3-8", "tpu-ubuntu2204-base", true};
    spec.folder = folder();
    spec.user = local_user();  // tests may be root's, who is let in by these servers alone
    spec.command = str("smelt run ", folder(), "/recipe.yaml");
    spec.package = package();
    spec.package_sha256 = file_sha256(package());
    spec.budget = 50;
    lead.out = out();
    lead.poll = 0.2;
    lead.ssh_config = servers_->config();
    const Recipe recipe = load_recipe(home_.dir.file("r.yaml"), {"out=" + out()});
    StagedRecipe staged = staged_recipe(recipe, spec.folder);
    staged.files.emplace_back(package(), staged_package(spec));
    lead.stage = [staged, spec](const auto& tell) {
      copy_once(staged.files, spec.folder + "/input/files.json", tell);
      write_file(spec.folder + "/recipe.yaml", staged.text);
    };
    return lead;
  }
  // Once the first checkpoint is there, and before another can be, the machine is taken away.
  void preempt_in_the_middle() {
    while (!exists(folder() + "/run/model/checkpoint-10/COMMIT"))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(-std::stoi(read_file(worker_home() + "/.smelt-job/pid")), SIGKILL);
    const std::lock_guard lock(mutex_);
    fake_.preempt("smelt-abc123");
    remove_tree(worker_home() + "/.smelt-job");  // the next machine is another
    remove_tree(worker_home() + "/.smelt-package");
    emulator_->fault("[]");
  }

  std::mutex mutex_;
  HttpServer guarded_{[this](const ServedRequest& request) {
    const std::lock_guard lock(mutex_);
    return fake_.serve(request);
  }};
  const ScopedVariable guarded_url_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", guarded_.url("")};
  std::optional<ScopedVariable> endpoint_;
  static inline std::unique_ptr<GcsEmulator> emulator_;
  std::unique_ptr<SshServers> servers_;
};

TEST_F(CloudJob, APreemptedOneEndsAsAnUndisturbedRun) {
  emulator_->fault(R"([{"match": "checkpoint-20", "times": 100000, "do": "status 503"}])");
  const std::jthread preempts([this] { preempt_in_the_middle(); });
  GoogleApi api = job_api();
  testing::internal::CaptureStdout();
  lead_job(api, lead());
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("checkpoint of step 10"), HasSubstr("is PREEMPTED"),
                          HasSubstr("started, for the 2. time"),
                          HasSubstr("all that the job made is deleted")))
      << said;
  EXPECT_TRUE(fake_.states().empty());
  const std::string alone = home_.dir.file("alone");
  const CommandOutput undisturbed =
      run_smelt(str("run ", home_.dir.file("r.yaml"), " --set out=", alone));
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.text;
  EXPECT_EQ(read_file(out() + "/model/eval_results.txt"),
            read_file(alone + "/model/eval_results.txt"));
  // The newest checkpoint came, the text stayed.
  EXPECT_TRUE(exists(out() + "/model/checkpoint-20/COMMIT"));
  EXPECT_FALSE(exists(out() + "/text"));
  EXPECT_TRUE(exists(out() + "/cloud-job.json"));
}

TEST_F(CloudJob, AnotherProcessTakesOverAndEndsIt) {
  // The first is stopped while the second checkpoint cannot be written.
  emulator_->fault(R"([{"match": "checkpoint-20", "times": 100000, "do": "status 503"}])");
  const std::jthread stops([this] {
    while (!exists(folder() + "/run/model/checkpoint-10/COMMIT"))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(::getpid(), SIGINT);
  });
  GoogleApi api = job_api();
  testing::internal::CaptureStdout();
  EXPECT_THAT(error_of<Stopped>([&] { lead_job(api, lead()); }),
              AllOf(HasSubstr("nobody leads the job now"),
                    HasSubstr("smelt cloud watch " + folder() + " goes on")));
  EXPECT_EQ(fake_.states().size(), 1u);
  emulator_->fault("[]");
  // By the results' folder; its machine is that of the first.
  EXPECT_THROW(
      watch_job({.place = out(), .end = true, .poll = 0.2, .ssh_config = servers_->config()}),
      ExitStatus);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("asked: it was told to end"),
                          HasSubstr("all that the job made is deleted")));
  int asked = 0;
  for (const ServedRequest& request : guarded_.requests())
    asked += request.method == "POST" && request.target.find("nodeId=") != std::string::npos;
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(fake_.states().empty());
  const JobJournal end = parse_journal(read_file(out() + "/cloud-job.json"), "journal");
  EXPECT_EQ(end.outcome, "asked");
  EXPECT_GE(*end.progress, 10);
  EXPECT_GT(dollars_so_far(end, seconds_now()), 0);
}

// The worker's own curl deletes the node that it is on, with the token of its service account.
TEST_F(CloudJob, AMachineThatHearsOfNobodyDeletesItself) {
  GoogleApi api = job_api();
  TpuApi tpu(api, "p");
  JobSpec spec = lead().journal.spec;
  tpu.create(kZone, "other", spec.node);
  tpu.create(kZone, machine_name(spec), spec.node);
  google_.answer("/computeMetadata/v1/instance/service-accounts/default/token",
                 {200, R"({"access_token":"PLANTED-machine","expires_in":3599})"});
  const GuardPlace place{api_server("tpu").text(), worker_home()};
  const auto on_it = [&](const std::string& command) {
    return run_command(str("env GCE_METADATA_HOST=", google_.host(), " SMELT_GUARD_POLL=0.1 HOME=",
                           worker_home(), " sh -c ", shell_word(command)));
  };
  // It lives on while somebody writes that it may.
  EXPECT_EQ(on_it(look_command(600, 0)).text, "none 0\n");
  EXPECT_EQ(on_it(guard_command(guard_script(spec, kZone, 0, place))).status, 0);
  EXPECT_EQ(
      on_it(start_job("trap 'echo saved; exit 75' TERM; echo begun; sleep 600 & wait")).status, 0);
  on_it("until grep -q begun $HOME/.smelt-job/log; do sleep 0.1; done");
  EXPECT_THAT(on_it(look_command(600, 0)).text, HasSubstr("running 6\nbegun\n"));
  EXPECT_EQ(google_.count("/computeMetadata/v1/instance/service-accounts/default/token"), 0);
  // The time comes: its job saves, then it goes.
  EXPECT_THAT(on_it(look_command(0, 2)).text, HasSubstr("running 6\ngun\n"));
  while (fake_.states().at("us-central1-a/smelt-abc123") != "DELETING")
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(fake_.states().at("us-central1-a/other"), "CREATING");
  EXPECT_THAT(read_file(worker_home() + "/.smelt-job/log"), HasSubstr("saved\n"));
  std::string bearer;
  for (const ServedRequest& request : guarded_.requests())
    if (request.method == "DELETE") bearer = request.headers.at("authorization");
  EXPECT_EQ(bearer, "Bearer PLANTED-machine");
}

TEST_F(CloudJob, WhatCannotBeRunIsRefusedBefore) {
  google_.answer("/storage/v1/b/bucket", {200, R"({"location": "US"})"});
  const ScopedVariable storage("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", google_.url(""));
  const std::string recipe = "cloud run " + home_.dir.file("r.yaml") + " --project p ";
  const std::string rest = "--zone us-central1-a --bucket gs://bucket --set out=" + out() +
                           " --package " + package() + " ";
  expect_refusal(recipe, HasSubstr("a recipe needs --type"));
  expect_refusal(recipe + rest + "--type v3-8", HasSubstr("--budget: 0 dollars are none"));
  expect_refusal(recipe + rest + "--type v2-32 --budget 5", HasSubstr("v2-32 has 4 hosts"));
  expect_refusal(recipe + rest + "--type v5p-8 --spot --budget 5",
                 AllOf(HasSubstr("the price of a v5p-8, spot, in us-central1-a is not known"),
                       HasSubstr("--price DOLLARS")));
  const std::string good = recipe + rest + "--type v3-8 --spot --budget 5 ";
  expect_refusal(good + "--until 2020-01-01", HasSubstr("--until: 2020-01-01 has passed"));
  expect_refusal(good + "--silence 5m", HasSubstr("--silence: 5m is too short to tell silence"));
  JobJournal done;
  done.outcome = "done";
  done.step = JobStep::ended;
  write_file("gs://bucket/finished/cloud-job.json", json_of(done).dump());
  write_file(
      "gs://bucket/finished/recipe.yaml",
      staged_recipe(load_recipe(home_.dir.file("r.yaml"), {"out=" + out()}), "gs://bucket/finished")
          .text);
  expect_refusal(good + "--name finished",
                 HasSubstr("gs://bucket/finished: the job of this recipe is done"));
  expect_refusal(good + "--until soon", HasSubstr("'soon' is neither a date nor a length of time"));
  expect_refusal(good + "--runtime-version tpu-vm-base", HasSubstr("Ubuntu 20.04"));
  expect_refusal(good + "--set out=gs://bucket/x", HasSubstr("a job's run lies below --bucket"));
  const CommandOutput wrong = run_smelt(good + "--yes --set text.input=gone.txt");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.text, AllOf(HasSubstr("wrong  recipe"), HasSubstr("gone.txt")));
  const CommandOutput dry = run_smelt(good + "--dry-run --name a");
  EXPECT_EQ(dry.status, 0);
  EXPECT_THAT(dry.text,
              AllOf(HasSubstr("us-central1-a: $2.40 an hour"),
                    HasSubstr("at most $5.00, $0.00 of it paid"), HasSubstr("in gs://bucket/a;")));
  EXPECT_THAT(run_smelt(good).text, HasSubstr("nothing was made; --yes runs it"));
  expect_refusal("cloud watch " + home_.dir.path(), HasSubstr("no job was run for this folder"));
  expect_refusal("cloud watch gs://bucket/none", HasSubstr("gs://bucket/none: there is no job"));
  write_file("gs://bucket/none/cloud-job.json", "{}");
  expect_refusal("cloud watch gs://bucket/none", HasSubstr("this is no 'smelt cloud job 1'"));
  EXPECT_TRUE(fake_.states().empty());
}

}  // namespace
}  // namespace smelt
