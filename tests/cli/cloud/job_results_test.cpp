// Uploads to a job's folder in the bucket and the copy of its results, on stand-ins
// (cli/cloud/cloud_job.h).
#include "cli/cloud/job_results.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "base/error.h"
#include "base/stop_signal.h"
#include "cli/cloud/cloud_job.h"
#include "cli/cloud/job_recipe.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/command.h"
#include "support/error_of.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JobResults : public CloudJob {
 protected:
  std::string run_line(const std::string& name) const {
    return str("cloud run ", recipe(),
               " --project p --zone us-central1-a --bucket gs://bucket --set out=", out(),
               " --package ", package(), " --type v3-8 --spot --budget 5 --user me --name ", name,
               " ");
  }
  static void write_job(const std::string& folder, cloud::JobStep step) {
    cloud::JobJournal job;
    job.spec.folder = folder;
    job.spec.run = "abc123";
    job.step = step;
    if (step == cloud::JobStep::ended) job.outcome = "done";
    io::write_file(io::join_path(folder, cloud::kJournalName), cloud::json_of(job).dump());
  }
  static void write_below(const std::string& folder, const std::string& name,
                          const std::string& bytes) {
    const std::string path = io::join_path(folder, name);
    if (!io::is_remote(path)) io::make_folders(io::parent_path(path));
    io::write_file(path, bytes);
  }
  static void write_checkpoint(const std::string& run, int step, const std::string& bytes) {
    for (const char* name : {"COMMIT", "manifest.json", "tensors-00000-of-00001.safetensors"})
      write_below(run, str("model/checkpoint-", step, "/", name), bytes);
  }
};

TEST_F(JobResults, NeverOverwriteAnotherRun) {
  const std::string job = folder();
  write_job(job, cloud::JobStep::ended);
  write_below(job, "run/vocab.txt", "of the job");
  write_below(out(), ".stages/train", "");
  write_below(out(), "model/checkpoint-20000/COMMIT", "");
  write_below(out(), "vocab.txt", "of another");
  const auto not_its_own = HasSubstr(": contains another run than that of job " + job);
  expect_refusal(run_line("new"), AllOf(HasSubstr("contains another run than that of job "
                                                  "gs://bucket/new, whose results would overwrite"),
                                        HasSubstr("hint: use --set out=FOLDER, or move that run")));
  expect_refusal(str("cloud watch ", job, " --out ", out()),
                 AllOf(not_its_own, HasSubstr("hint: use --out FOLDER")));
  EXPECT_EQ(io::read_file(out() + "/vocab.txt"), "of another");
  // The job's own results may be copied again, but not over a newer local checkpoint.
  std::filesystem::remove_all(out());
  write_checkpoint(job + "/run", 5, "");
  for (const std::string& place : {job + " --out " + out(), out()}) {
    const CommandOutput watched = run_smelt("cloud watch " + place);
    EXPECT_EQ(watched.status, 0) << watched.text;
    EXPECT_EQ(io::read_file(out() + "/vocab.txt"), "of the job");
  }
  write_checkpoint(out(), 9, "");
  expect_refusal(
      "cloud watch " + out(),
      AllOf(HasSubstr(str("result: the local run has a checkpoint of step 9, and the job "
                          "in ",
                          job, " one of step 5: its results would overwrite newer ones")),
            HasSubstr("hint: --out FOLDER copies them to another folder")));
}

TEST_F(JobResults, NeverReplaceANewerLocalRun) {
  const std::string folder = "gs://bucket/newer";
  io::write_file(folder + "/recipe.yaml",
                 staged_recipe(pipeline::load_recipe(recipe(), {"out=" + out()}), folder).text);
  write_job(folder, cloud::JobStep::ended);
  cloud::JobJournal job =
      cloud::parse_journal(io::read_file(io::join_path(folder, cloud::kJournalName)), "journal");
  job.outcome = "budget";
  for (const std::string& place : {folder, out()}) {
    io::make_folders(out());
    io::write_file(io::join_path(place, cloud::kJournalName), cloud::json_of(job).dump());
  }
  write_checkpoint(folder + "/run", 10, "the job's");
  write_checkpoint(out(), 12, "newer");
  // Rejected before anything costs money.
  expect_refusal(
      run_line("newer") + "--yes --set train.steps=40",
      AllOf(HasSubstr("result: the local run has a checkpoint of step 12, and the job in "
                      "gs://bucket/newer one of step 10: its results would overwrite"),
            HasSubstr("hint: --set out=FOLDER --name newer")));
  EXPECT_TRUE(fake_.states().empty());
  // The local run may also have continued while the job trained.
  cloud::GoogleApi api = job_api();
  cloud::JobSpec spec = this->spec();
  spec.folder = folder;
  const auto fetch = [&] { fetch_results(api, spec, out(), [](const std::string&) {}); };
  EXPECT_THAT(error_of<UsageError>(fetch),
              HasSubstr("hint: smelt cloud watch gs://bucket/newer --out FOLDER"));
  const std::string model = out() + "/model";
  EXPECT_EQ(io::list_folder(model), std::vector<std::string>{"checkpoint-12"});
  io::remove_file(model + "/checkpoint-12/COMMIT");  // now it is incomplete
  fetch();
  EXPECT_EQ(io::list_folder(model), (std::vector<std::string>{"checkpoint-10", "checkpoint-12"}));
  EXPECT_EQ(io::read_file(model + "/checkpoint-12/manifest.json"), "newer");
}

TEST_F(JobResults, RejectASecondJobWhileOneIsRunning) {
  io::make_folders(out());
  write_job(folder(), cloud::JobStep::train);
  io::write_file(io::join_path(out(), cloud::kJournalName),
                 io::read_file(io::join_path(folder(), cloud::kJournalName)));
  expect_refusal(run_line("second"),
                 AllOf(HasSubstr(str("contains the journal of the running job ", folder())),
                       HasSubstr(str("hint: smelt cloud watch ", folder(),
                                     " monitors it (add --end to stop it)"))));
  write_job(folder(), cloud::JobStep::ended);
  const CommandOutput dry = run_smelt(run_line("second") + "--dry-run");
  EXPECT_EQ(dry.status, 0) << dry.text;
  EXPECT_TRUE(fake_.states().empty());
}

TEST_F(JobResults, RejectAnotherRecipeIfTheJobHasCheckpoints) {
  const std::string folder = "gs://bucket/again";
  io::write_file(folder + "/recipe.yaml",
                 staged_recipe(pipeline::load_recipe(recipe(), {"out=" + out()}), folder).text);
  const std::string other = run_line("again") + "--dry-run --set model.intermediate_size=64";
  EXPECT_EQ(run_smelt(other).status, 0);
  write_checkpoint(folder + "/run", 10, "");
  expect_refusal(other, AllOf(HasSubstr("gs://bucket/again: its run has checkpoints of another "
                                        "recipe: model.intermediate_size was 32, is 64"),
                              HasSubstr("hint: use --name NAME to start another job")));
  const CommandOutput longer = run_smelt(run_line("again") + "--dry-run --set train.steps=40");
  EXPECT_EQ(longer.status, 0) << longer.text;
}

TEST_F(JobResults, RejectAJobFolderWithTheUsersOwnFiles) {
  write_below("gs://bucket/mine", "input/text.txt", "mine");
  expect_refusal(
      run_line("mine") + "--yes",
      AllOf(HasSubstr("gs://bucket/mine/input: contains files that were not uploaded by a "
                      "job, such as text.txt; a job would delete them"),
            HasSubstr("hint: use another folder with --name NAME")));
  EXPECT_EQ(io::read_file("gs://bucket/mine/input/text.txt"), "mine");
}

TEST_F(JobResults, ResumedJobKeepsItsSettings) {
  const std::string folder = "gs://bucket/goes";
  io::write_file(folder + "/recipe.yaml",
                 staged_recipe(pipeline::load_recipe(recipe(), {"out=" + out()}), folder).text);
  const auto line_of = [&](const auto& change) {
    cloud::JobJournal job;
    job.spec = spec();
    job.spec.folder = folder;
    job.spec.user = "me";
    job.spec.budget = 3;
    job.step = cloud::JobStep::train;
    change(job.spec);
    io::write_file(io::join_path(folder, cloud::kJournalName), cloud::json_of(job).dump());
    return run_line("goes") + "--dry-run --price 7";
  };
  const CommandOutput longer = run_smelt(line_of([](cloud::JobSpec&) {}));
  EXPECT_EQ(longer.status, 0) << longer.text;
  EXPECT_THAT(longer.text, AllOf(HasSubstr("at most $5.00"), HasSubstr("$7.00 an hour")));
  EXPECT_THAT(run_smelt(line_of([](cloud::JobSpec& was) { was.package_sha256 = "0"; })).text,
              HasSubstr("note: the job keeps its package; it does not use "));
  // The price that this command gives also applies to the machine that already exists.
  cloud::JobJournal there;
  there.spec = spec();
  there.spec.folder = folder;
  there.spec.user = "me";
  there.step = cloud::JobStep::train;
  const double now = seconds_now();
  there.machines = {{.zone = there.spec.zones[0].name,
                     .operation = "",
                     .dollars_an_hour = 0.24,
                     .asked = now - 3600,
                     .paid_from = now - 3600,
                     .seen = now + 60}};
  const auto run_on = [&] {
    io::write_file(io::join_path(folder, cloud::kJournalName), cloud::json_of(there).dump());
    return run_smelt(run_line("goes") + "--dry-run --price 2.4");
  };
  EXPECT_THAT(run_on().text, HasSubstr("at most $5.00, $2.40 of it spent"));
  // A job that is already ending may be continued, so that it ends.
  there.step = cloud::JobStep::clean;
  there.outcome = "budget";
  EXPECT_EQ(run_on().status, 0);
  const auto goes_on = [](const std::string& words) {
    return HasSubstr("gs://bucket/goes: " + words);
  };
  expect_refusal(line_of([](cloud::JobSpec& was) { was.zones[0].name = "us-central1-b"; }),
                 goes_on("--zone is us-central1-a; in the running job it is us-central1-b"));
  expect_refusal(line_of([](cloud::JobSpec& was) { was.queued = true; }),
                 goes_on("--queued is not set; in the running job it is set"));
  expect_refusal(line_of([](cloud::JobSpec& was) { was.user = "you"; }),
                 goes_on("--user is me; in the running job it is you"));
}

TEST_F(JobResults, LeaveNoCheckpointAfterAPartialCopy) {
  cloud::JobSpec spec = this->spec();
  const std::string run = spec.folder + "/run", model = out() + "/model";
  write_checkpoint(run, 5, "older");
  write_checkpoint(run, 10, "new");
  write_checkpoint(out(), 10, "old");
  write_checkpoint(out(), 7, "another's");
  emulator_->fault(R"([{"match": "GET .*tensors-00000", "times": 100000, "do": "status 403"}])");
  cloud::GoogleApi api = job_api();
  std::string told;
  const auto fetch = [&] {
    fetch_results(api, spec, out(), [&](const std::string& line) { told += line + "\n"; });
  };
  EXPECT_THROW(fetch(), Error);
  EXPECT_FALSE(io::exists(model + "/checkpoint-10/COMMIT"));
  emulator_->fault("[]");
  fetch();
  for (const char* name : {"COMMIT", "manifest.json", "tensors-00000-of-00001.safetensors"})
    EXPECT_EQ(io::read_file(str(model, "/checkpoint-10/", name)), "new");
  EXPECT_EQ(io::list_folder(model), std::vector<std::string>{"checkpoint-10"});
  EXPECT_THAT(told,
              HasSubstr("removing " + model + "/checkpoint-7: the job's run no longer has it"));
}

// The signal arrives when the first progress message is printed.
TEST_F(JobResults, SignalStopsUploadsAndDownloads) {
  const cloud::JobSpec spec = this->spec();
  write_below(spec.folder, "run/vocab.txt", "a");
  const std::string there = spec.folder + "/input/text.txt";
  cloud::GoogleApi api = job_api();
  const auto stopped = [&](const auto& work) {
    const StopSignal signal("wrong notice\n");
    testing::internal::CaptureStderr();
    EXPECT_THROW(work([](const std::string&) { ::raise(SIGINT); }), Stopped);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(stopped([&](const auto& tell) {
              stage_files(api, {{recipe(), there}}, spec.folder, tell, [] {});
            }),
            "\nstopping before all data are in the bucket; a second signal ends at once\n");
  EXPECT_FALSE(io::exists(there));
  EXPECT_EQ(stopped([&](const auto& tell) { fetch_results(api, spec, out(), tell); }),
            "\nstopping before all results are copied; a second signal ends at once\n");
  EXPECT_FALSE(io::exists(out() + "/vocab.txt"));
}

// Files that are already there are not uploaded again; other files of an earlier attempt are
// removed.
TEST_F(JobResults, UploadSkipsPresentFilesAndRemovesOthers) {
  const std::string folder = spec().folder;
  cloud::GoogleApi api = job_api();
  std::string told;
  const auto stage = [&](const std::vector<StagedFile>& files) {
    stage_files(api, files, folder, [&](const std::string& line) { told += line; }, [] {});
  };
  io::write_file(home_.dir.file("b"), "b");
  const StagedFile a{recipe(), folder + "/input/r.yaml"},
      b{home_.dir.file("b"), folder + "/input/b"};
  stage({a, b});
  told.clear();
  stage({a});
  EXPECT_EQ(told, "");
  EXPECT_EQ(io::list_folder(folder + "/input"), std::vector<std::string>{"r.yaml"});
  EXPECT_EQ(io::read_file(a.to), io::read_file(recipe()));
}

}  // namespace
}  // namespace smelt::cli
