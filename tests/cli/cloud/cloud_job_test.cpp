// Whole jobs with one worker, on stand-ins (cli/cloud/cloud_job.h).
#include "cli/cloud/cloud_job.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/run_program.h"
#include "cli/cloud/job_options.h"
#include "cli/cloud/job_recipe.h"
#include "cloud/job_guard.h"
#include "cloud/remote_job.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/estimate/budget.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(CloudJob, PreemptedJobGivesTheSameResultAsAnUninterruptedRun) {
  emulator_->fault(R"([{"match": "checkpoint-20", "times": 100000, "do": "status 503"}])");
  const std::jthread preempts([this] { preempt_in_the_middle(); });
  cloud::GoogleApi api = job_api();
  testing::internal::CaptureStdout();
  lead_job(api, lead());
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("checkpoint of step 10"), HasSubstr("is PREEMPTED"),
                          HasSubstr("started (start 2)"),
                          HasSubstr("everything that the job created is deleted")))
      << said;
  EXPECT_TRUE(fake_.states().empty());
  const std::string alone = home_.dir.file("alone");
  const CommandOutput undisturbed = run_smelt(str("run ", recipe(), " --set out=", alone));
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.text;
  EXPECT_EQ(io::read_file(out() + "/model/eval_results.txt"),
            io::read_file(alone + "/model/eval_results.txt"));
  // The bucket has the complete output of the machine that finished.
  const auto logs = io::list_folder(folder() + "/log");
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_THAT(logs[0], testing::EndsWith("Z-worker-0.txt"));
  EXPECT_EQ(io::read_file(folder() + "/log/" + logs[0]),
            io::read_file(worker_home() + "/.smelt-job/log"));
  EXPECT_THAT(said, HasSubstr("its log is in " + folder() + "/log"));
  // The newest checkpoint was copied from the bucket, the training text was not.
  EXPECT_TRUE(io::exists(out() + "/model/checkpoint-20/COMMIT"));
  EXPECT_FALSE(io::exists(out() + "/text"));
  EXPECT_TRUE(io::exists(out() + "/cloud-job.json"));
}

TEST_F(CloudJob, AnotherProcessTakesOverAndFinishesTheJob) {
  // The first process is stopped after the first checkpoint; the bucket rejects the second one.
  emulator_->fault(R"([{"match": "checkpoint-20", "times": 100000, "do": "status 503"}])");
  const std::jthread stops([this] {
    while (!io::exists(folder() + "/run/model/checkpoint-10/COMMIT"))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(::getpid(), SIGINT);
  });
  cloud::GoogleApi api = job_api();
  testing::internal::CaptureStdout();
  EXPECT_THAT(error_of<Stopped>([&] { lead_job(api, lead()); }),
              AllOf(HasSubstr("no process monitors the job now"),
                    HasSubstr("smelt cloud watch " + folder() + " continues")));
  EXPECT_EQ(fake_.states().size(), 1u);
  emulator_->fault("[]");
  // The second process finds the job by its result folder and uses the first one's machine.
  EXPECT_THROW(
      watch_job({.place = out(), .end = true, .poll = 0.2, .ssh_config = servers_->config()}),
      ExitStatus);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("asked: stopped by the user"),
                          HasSubstr("everything that the job created is deleted")));
  EXPECT_EQ(count_requests("POST", "nodeId="), 1);
  EXPECT_TRUE(fake_.states().empty());
  const cloud::JobJournal end =
      cloud::parse_journal(io::read_file(out() + "/cloud-job.json"), "journal");
  EXPECT_EQ(end.outcome, "asked");
  EXPECT_GE(*end.progress, 10);
  EXPECT_GT(cloud::dollars_so_far(end, seconds_now()), 0);
}

TEST_F(CloudJob, InterruptedJobReportsThatItHasNoMachine) {
  fake_.quota = 0;
  const std::jthread stops([this] {
    const std::string journal = out() + "/cloud-job.json";
    while (!io::exists(journal) ||
           cloud::parse_journal(io::read_file(journal), "journal").refusals == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(::getpid(), SIGINT);
  });
  cloud::GoogleApi api = job_api();
  testing::internal::CaptureStdout();
  const std::string said = error_of<Stopped>([&] { lead_job(api, lead()); });
  testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("cloud: no process monitors the job now; it has no machine"),
                          HasSubstr("smelt cloud watch " + folder() + " continues"),
                          testing::Not(HasSubstr("deletes itself"))));
  // Ending the job needs no ssh key.
  const ScopedVariable no_home("HOME");
  testing::internal::CaptureStdout();
  EXPECT_THROW(watch_job({.place = out(), .end = true, .poll = 0.2}), ExitStatus);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("asked: stopped by the user"));
}

// A worker deletes its own node with curl and the token of its service account, exactly once.
TEST_F(CloudJob, MachineWithoutSupervisorDeletesItself) {
  cloud::GoogleApi api = job_api();
  cloud::TpuApi tpu(api, "p");
  const cloud::JobSpec spec = this->spec();
  fake_.node_looks = 1000;
  tpu.create(cloud::kZone, "other", spec.node);
  tpu.create(cloud::kZone, cloud::machine_name(spec), spec.node);
  google_.answer("/computeMetadata/v1/instance/service-accounts/default/token",
                 {200, R"({"access_token":"PLANTED-machine","expires_in":3599})"});
  const cloud::GuardAddresses place{cloud::api_server("tpu").text(), worker_home(),
                                    cloud::api_server("storage").text()};
  const auto on_it = [&](const std::string& command) {
    return run_command(str("env GCE_METADATA_HOST=", google_.host(), " SMELT_GUARD_POLL=0.1 HOME=",
                           worker_home(), " sh -c ", shell_word(command)));
  };
  // The machine stays while a supervisor keeps moving the deadline.
  EXPECT_EQ(on_it(cloud::look_command(600, 0)).text, "none 0\n");
  EXPECT_EQ(on_it(cloud::guard_command(cloud::guard_script(spec, cloud::kZone, 0, place))).status,
            0);
  EXPECT_EQ(on_it(cloud::start_job("trap 'echo saved; exit 75' TERM; echo begun; sleep 600 & wait"))
                .status,
            0);
  on_it("until grep -q begun $HOME/.smelt-job/log; do sleep 0.1; done");
  EXPECT_THAT(on_it(cloud::look_command(600, 0)).text, HasSubstr("running 6\nbegun\n"));
  EXPECT_EQ(google_.count("/computeMetadata/v1/instance/service-accounts/default/token"), 0);
  // At the deadline the job saves, then the machine is deleted.
  EXPECT_THAT(on_it(cloud::look_command(0, 2)).text, HasSubstr("running 6\ngun\n"));
  while (fake_.states().at("us-central1-a/smelt-abc123") != "DELETING")
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(fake_.states().at("us-central1-a/other"), "CREATING");
  // The output is kept in the bucket up to its end.
  const auto logs = io::list_folder(folder() + "/log");
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_EQ(io::read_file(folder() + "/log/" + logs[0]), "begun\nsaved\n");
  std::string bearer;
  for (const ServedRequest& request : guarded_.requests())
    if (request.method == "DELETE") bearer = request.headers.at("authorization");
  EXPECT_EQ(bearer, "Bearer PLANTED-machine");
  // Another worker of the same machine sees that it is being deleted and does not request it again.
  on_it("kill -s KILL -- -$(cat $HOME/.smelt-guard/pid); rm $HOME/.smelt-guard/pid");
  const int looked = count_requests("GET", "/nodes/smelt-abc123");
  EXPECT_EQ(on_it("export TPU_WORKER_ID=1; " +
                  cloud::guard_command(cloud::guard_script(spec, cloud::kZone, 0, place)))
                .status,
            0);
  while (count_requests("GET", "/nodes/smelt-abc123") < looked + 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(count_requests("DELETE", ""), 1);
}

// The confirmed jobs fail at once, because the project has no quota.
TEST_F(CloudJob, AsksForConfirmationBeforeCreatingAnything) {
  fake_.quota = 0;
  const std::string line =
      str("cloud run ", recipe(),
          " --project p --zone us-central1-a --bucket gs://bucket --set out=", out(), " --package ",
          package(), " --type v3-8 --budget 5 --user tester --name asked ",
          "--patience 1s --poll 0.05");
  const auto answered = [&](const std::string& answer) {
    const std::string command = str(smelt_program(), " ", line);
    return run_command(str("echo ", answer, " | script -qec ", shell_word(command), " /dev/null"));
  };
  for (const CommandOutput& refused : {answered("n"), run_smelt(line)}) {
    EXPECT_EQ(refused.status, 1) << refused.text;
    EXPECT_THAT(refused.text, AllOf(HasSubstr("v3-8, tpu-ubuntu2204-base, project p"),
                                    HasSubstr("us-central1-a: $8.00 an hour"),
                                    HasSubstr("nothing was created; --yes runs it")));
  }
  EXPECT_FALSE(io::exists("gs://bucket/asked"));
  EXPECT_EQ(count_requests("POST", "/locations/"), 0);
  // With --json, standard output has only the journal.
  const CommandOutput json =
      run_command(str("(", smelt_program(), " ", line, " --yes --json 2>/dev/null)"));
  EXPECT_EQ(Json::parse(json.text).at("outcome"), "failed");
  for (const CommandOutput& run : {answered("y"), run_smelt(line + " --yes")}) {
    EXPECT_EQ(run.status, 1) << run.text;
    EXPECT_THAT(run.text, AllOf(HasSubstr("us-central1-a: no quota"),
                                HasSubstr("failed: no machine became available in the time limit"),
                                HasSubstr("the job has ended, for $0.00: failed")));
  }
  EXPECT_EQ(count_requests("POST", "nodeId=smelt-"), 3);
}

// The staged recipe, which every machine of the job runs, has the number of steps.
TEST_F(CloudJob, ComputesTheStepsOfABudgetOnceBeforeRentingAMachine) {
  REQUIRE_PLUGIN("tpu");
  fake_.quota = 0;
  const ScopedVariable cache("XDG_CACHE_HOME", home_.dir.file("cache"));
  std::string text = io::read_file(recipe());
  constexpr std::string_view kSteps = "steps: 20, ";
  text.replace(text.find(kSteps), kSteps.size(), "budget: {usd: 50, type: v3-8, spot: true}, ");
  io::write_file(recipe(), text);
  const std::string line =
      str("cloud run ", recipe(),
          " --project p --zone us-central1-a --bucket gs://bucket --set out=", out(), " --package ",
          package(), " --type v3-8 --spot --budget 60 --user tester --name budgeted ",
          "--patience 1s --poll 0.05 --yes");
  const CommandOutput first = run_smelt(line);
  const std::size_t plan =
      first.text.find("plan: computing the number of steps for $50.00 on a v3-8");
  ASSERT_NE(plan, std::string::npos) << first.text;
  EXPECT_LT(plan, first.text.find("us-central1-a: no quota")) << first.text;
  const std::string staged = "gs://bucket/budgeted/recipe.yaml";
  const auto steps =
      pipeline::steps_of_budget_in(staged, pipeline::load_recipe(recipe(), {"out=" + out()}));
  ASSERT_TRUE(steps) << first.text;
  EXPECT_EQ(str(pipeline::load_recipe(staged, {}).train.steps), *steps);
  EXPECT_EQ(pipeline::with_steps_of_budget(staged, {}),
            std::vector<std::string>());  // needs no plan
  const CommandOutput again = run_smelt(line);
  EXPECT_THAT(again.text, AllOf(HasSubstr(*steps + " steps of 8"), HasSubstr("no quota"),
                                testing::Not(HasSubstr("plan: computing the number of steps"))));
}

TEST_F(CloudJob, RejectsInvalidJobsBeforeUploading) {
  const std::string run = "cloud run " + recipe() + " --project p ";
  const std::string rest = "--zone us-central1-a --bucket gs://bucket --set out=" + out() +
                           " --package " + package() + " --user me ";
  expect_refusal(run, HasSubstr("a recipe needs --type"));
  expect_refusal(run + rest + "--type v3-8", HasSubstr("--budget is missing"));
  expect_refusal(run + rest + "--type v5p-8 --spot --budget 5",
                 AllOf(HasSubstr("the price of a v5p-8, spot, in us-central1-a is unknown"),
                       HasSubstr("--price DOLLARS")));
  const std::string good = run + rest + "--type v3-8 --spot --budget 5 ";
  // These are rejected before anything is uploaded or compiled.
  expect_refusal(run + rest + "--type v3-8 --spot --budget 0.5",
                 AllOf(HasSubstr("--budget: $0.50, of which $0.00 is spent, is too low: starting, "
                                 "saving and deleting a machine at $2.40 an hour costs $0.70"),
                       HasSubstr("hint: --budget 4 pays for an hour of training")));
  expect_refusal(good + "--until 10m",
                 HasSubstr("--until: 10m is too soon: creating the machine, saving "
                           "and deleting it takes 18 minutes"));
  expect_refusal(good + "--turn 1h", HasSubstr("--turn: only for queued machines"));
  expect_refusal(good + "--worker 0", HasSubstr("--worker is only for commands on a machine"));
  expect_refusal(good + "--until 2020-01-01", HasSubstr("--until: 2020-01-01 has passed"));
  expect_refusal(good + "--until 2030-11-31", HasSubstr("--until: no such day: 2030-11-31"));
  expect_refusal(good + "--name ../x", HasSubstr("--name '../x': invalid job name"));
  expect_refusal(run + rest + "--type v3-8 --budget inf",
                 HasSubstr("'inf' is not a number of dollars"));
  expect_refusal(good + "--silence 5m", HasSubstr("--silence: 5m is too short: a slow network"));
  cloud::JobJournal done;
  done.outcome = "done";
  done.step = cloud::JobStep::ended;
  io::write_file("gs://bucket/finished/cloud-job.json", cloud::json_of(done).dump());
  io::write_file(
      "gs://bucket/finished/recipe.yaml",
      staged_recipe(pipeline::load_recipe(recipe(), {"out=" + out()}), "gs://bucket/finished")
          .text);
  expect_refusal(good + "--name finished",
                 HasSubstr("gs://bucket/finished: the job of this recipe is done"));
  expect_refusal(good + "--until soon", HasSubstr("'soon' is neither a date nor a duration"));
  expect_refusal(good + "--runtime-version tpu-vm-base", HasSubstr("Ubuntu 20.04"));
  expect_refusal(good + "--set out=gs://bucket/x", HasSubstr("must be a local folder"));
  const auto expect_wrong = [](const std::string& words, const auto& why) {
    const CommandOutput wrong = run_smelt(words);
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.text, AllOf(HasSubstr("wrong  recipe"), why));
  };
  expect_wrong(good + "--yes --set text.input=gone.txt", HasSubstr("gone.txt"));
  const std::string pod = run + rest + "--type v2-32 --budget 50 ";
  expect_wrong(pod, AllOf(HasSubstr("train.device: cpu: a job must use the TPU of the v2-32"),
                          HasSubstr("--set train.device=tpu --set train.devices=32")));
  expect_wrong(pod + "--set train.device=tpu",
               HasSubstr("train.devices: 1: a v2-32 has 32 devices"));
  expect_wrong(good + "--set train.device=auto",
               HasSubstr("train.device: auto: a job must use the TPU of the v3-8"));
  const CommandOutput dry = run_smelt(good + "--dry-run --name a --until 2099-12-31T10:00Z");
  EXPECT_EQ(dry.status, 0);
  EXPECT_THAT(dry.text, AllOf(HasSubstr("us-central1-a: $2.40 an hour (of 2019-06, a tutorial's "
                                        "bill for a v3-8; "),
                              HasSubstr("months old: check it)\n  warning: the budget uses "
                                        "a price that is older than 6 months"),
                              HasSubstr("at most $5.00, $0.00 of it spent"),
                              HasSubstr("until 2099-12-31 10:00Z at the latest"),
                              HasSubstr("training time and cost are unknown"),
                              HasSubstr("in gs://bucket/a;")));
  const CommandOutput unasked = run_smelt(good);
  EXPECT_EQ(unasked.status, 1);
  EXPECT_THAT(unasked.text, HasSubstr("nothing was created; --yes runs it"));
  cloud::JobJournal other;
  other.step = cloud::JobStep::train;
  io::write_file("gs://bucket/other/cloud-job.json", cloud::json_of(other).dump());
  expect_refusal(good + "--name other",
                 HasSubstr("gs://bucket/other: its running job has another recipe"));
  expect_refusal("cloud run pod --project p --command true --budget 5",
                 HasSubstr("--budget is only for recipes, not for commands on a machine"));
  expect_refusal(str(run, "--user root --type v3-8 --budget 5 --zone us-central1-a --set out=",
                     out(), " --bucket gs://bucket --package ", package()),
                 HasSubstr("cannot sign in to a machine as root"));
  expect_refusal("cloud watch " + home_.dir.path(), HasSubstr("no job has results in this folder"));
  expect_refusal("cloud watch gs://bucket/none", HasSubstr("gs://bucket/none: contains no job"));
  io::write_file("gs://bucket/none/cloud-job.json", "{}");
  expect_refusal("cloud watch gs://bucket/none", HasSubstr("not a 'smelt cloud job 1' file"));
  EXPECT_TRUE(fake_.states().empty());
}

}  // namespace
}  // namespace smelt::cli
