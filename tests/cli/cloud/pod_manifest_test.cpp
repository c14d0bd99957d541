// smelt pod manifest: the program that a file is for, or its published schema, accepts the file,
// and the file starts smelt with the right arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/command.h"
#include "support/missing.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;

class PodManifest : public testing::Test {
 protected:
  PodManifest() {
    // A fake smelt. Process 0 prints the arguments. If ends_with() has set a status for this
    // process (SLURM_PROCID, or 0), the first call ends with it.
    fake("smelt",
         str("[ \"${SLURM_PROCID:-0}\" = 1 ] || { echo smelt; printf '<%s>\\n' \"$@\"; }\nf=",
             file("status"), "-${SLURM_PROCID:-0}; [ -e $f ] || exit 0\n",
             "s=$(cat $f); rm $f; [ $s -lt 128 ] && exit $s; kill -s $((s - 128)) $$"));
  }
  std::string file(const std::string& name) const { return dir_.file(name); }
  void fake(const std::string& name, const std::string& body) const {
    io::write_file(file(name), str("#!/bin/bash\n", body, "\n"));
    ASSERT_EQ(::chmod(file(name).c_str(), 0755), 0);
  }
  void ends_with(int status, int process = 0) const {
    io::write_file(file(str("status-", process)), str(status));
  }
  // Writes the manifest that is printed for these arguments to a file and returns its path.
  std::string manifest(const std::string& words) const {
    const CommandOutput out = run_smelt("pod manifest " + words);
    EXPECT_EQ(out.status, 0) << out.text;
    io::write_file(file("manifest"), out.text);
    return file("manifest");
  }
  CommandOutput run_with_fakes(const std::string& command) const {
    return run_command(str("cd ", dir_.path(), " && PATH=", dir_.path(), ":$PATH ", command));
  }
  Json documents(const std::string& kind, const std::string& path) const {
    const CommandOutput out =
        run_oracle(str(source_path("tests/cli/cloud/check_manifest.py "), kind, " ", path));
    EXPECT_EQ(out.status, 0) << out.text;
    return Json::parse_or_discard(out.text);
  }

  const TempDir dir_;
  const std::string recipe_ = source_path("recipes/jestimator-bert-base.yaml");
  const std::string on_tpu_ =
      str(recipe_, " --on v2-32 --set out=gs://b/jes --set text.input=\"gs://b/it's \\$HOME/*\"");
};

constexpr const char *kOut = "<out=gs://b/jes>", *kText = "<text.input=gs://b/it's $HOME/*>";

TEST_F(PodManifest, TpuVmScriptRunsOnAllWorkersAndRestartsAfterFailures) {
  fake(
      "gcloud",
      "exec 2>/dev/null; echo gcloud \"${@:1:5}\"\nfor word; do case $word in --command=*) bash -c "
      "\"${word#--command=}\";; esac; done");
  const std::string path = manifest(on_tpu_ + " --kind tpu-vm --zone us-central1-a");
  EXPECT_THAT(io::read_file(path),
              HasSubstr("smelt cloud up jes --type v2-32 --zone us-central1-a"));
  fake("sleep", "");
  const std::string run = str("smelt\n<run>\n<jes.yaml>\n<--set>\n", kOut, "\n<--set>\n", kText,
                              "\n<--set>\n<train.devices=32>\n");
  for (const int status : {1, 76, 134, 135, 137, 139, 75, 2, 70}) {
    SCOPED_TRACE(status);
    ends_with(status);
    const CommandOutput out = run_with_fakes("sh " + path);
    const bool again = status == 1 || status > 75;
    EXPECT_EQ(out.status, again ? 0 : status);
    EXPECT_EQ(out.text, str("gcloud compute tpus tpu-vm scp ", recipe_,
                            "\ngcloud compute tpus tpu-vm ssh jes\n", run, again ? run : ""));
  }
}

TEST_F(PodManifest, TpuVmScriptGivesUpAfterFiveShortRuns) {
  fake("gcloud",
       "for word; do case $word in --command=*) bash -c \"${word#--command=}\";; esac; done");
  const std::string path = manifest(on_tpu_ + " --kind tpu-vm --zone us-central1-a");
  fake("sleep", "");
  // The fake smelt crashes seven times, then succeeds.
  const std::string count = file("count"), time = file("time");
  fake("smelt", str("echo >> ", count, "; [ $(wc -l < ", count, ") -lt 8 ] && exit 139; exit 0"));
  const CommandOutput given_up = run_with_fakes("sh " + path);
  EXPECT_EQ(given_up.status, 139);
  EXPECT_EQ(given_up.text,
            "5 starts in a row lasted less than 10 minutes or ended with 1: given up\n");
  EXPECT_EQ(io::read_file(count), "\n\n\n\n\n");
  io::write_file(count, "");
  fake("date", str("echo >> ", time, "; echo $((1000 * $(wc -l < ", time, ")))"));
  EXPECT_EQ(run_with_fakes("sh " + path).status, 0);
}

TEST_F(PodManifest, GkeManifestIsAValidJobSet) {
  REQUIRE_ORACLE();
  const Json found =
      documents("jobset", manifest(str(recipe_,
                                       " --set out=gs://b/JES_1/ --kind jobset --on v5litepod-16 "
                                       "--spot --image r.example/smelt:1")));
  ASSERT_EQ(found.size(), 2u) << found;
  EXPECT_EQ(found[0]["data"]["recipe.yaml"], io::read_file(recipe_));
  EXPECT_EQ(found[1]["metadata"]["name"], "jes-1");
  EXPECT_EQ(found[1]["spec"]["failurePolicy"]["maxRestarts"], 50);
  const Json job = found[1]["spec"]["replicatedJobs"][0]["template"]["spec"];
  EXPECT_EQ(job["parallelism"], 4);
  EXPECT_EQ(job["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"],
            (Json{1, 75, 76, 129, 134, 135, 137, 139, 143}));
  const Json pod = job["template"]["spec"];
  EXPECT_EQ(pod["nodeSelector"],
            (Json{{"cloud.google.com/gke-tpu-accelerator", "tpu-v5-lite-podslice"},
                  {"cloud.google.com/gke-tpu-topology", "4x4"},
                  {"cloud.google.com/gke-spot", "true"}}));
  EXPECT_EQ(pod["containers"][0]["resources"]["limits"]["google.com/tpu"], 4);
  EXPECT_EQ(pod["containers"][0]["command"][2],
            "exec smelt run /recipe/recipe.yaml --set 'out=gs://b/JES_1/' --set "
            "'train.devices=16'");
}

TEST_F(PodManifest, SlurmScriptIsAcceptedBySbatchAndRequeuedWhenStopped) {
  // A fake srun, which runs two tasks and returns the higher exit status.
  fake("srun",
       "exec 2>/dev/null; shift; SLURM_PROCID=0 \"$@\" & SLURM_PROCID=1 \"$@\"; b=$?; wait $!; "
       "a=$?\n"
       "exit $((a > b ? a : b))");
  fake("scontrol", "echo scontrol \"$@\"");
  const std::string path =
      manifest(str(recipe_, " --kind slurm --on h100x8 --hosts 2 --set out=/net/jes"));
  io::write_file(
      file("slurm.conf"),
      "ClusterName=x\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nAuthType=auth/"
      "none\nGresTypes=gpu\nMessageTimeout=1\n");
  const std::string sbatch = str("SLURM_CONF=", file("slurm.conf"), " sbatch --test-only ");
  if (run_command("command -v sbatch").status != 0)
    SKIP_OR_FAIL_WITHOUT("oracle", "there is no sbatch; scripts/test installs it");
  // This is sbatch's only error for a valid file.
  EXPECT_THAT(run_command(sbatch + path).text, HasSubstr("Unable to contact slurm controller"));
  const auto ended = [&](int first, int second) {
    ends_with(first, 0);
    ends_with(second, 1);
    return run_with_fakes(str("SLURM_JOB_ID=7 bash ", path));
  };
  const std::string run = str("smelt\n<run>\n<", recipe_,
                              ">\n<--set>\n<out=/net/jes>\n<--set>\n<train.device=gpu>\n<--set>\n"
                              "<train.devices=16>\n");
  using Statuses = std::pair<int, int>;
  for (const auto& [first, second] : {Statuses(75, 75), Statuses(76, 137), Statuses(139, 76),
                                      Statuses(134, 0), Statuses(76, 143), Statuses(1, 76)})
    EXPECT_EQ(ended(first, second).text, run + "scontrol requeue 7\n") << first << " " << second;
  for (const auto& [first, second] :
       {Statuses(0, 0), Statuses(2, 2), Statuses(2, 76), Statuses(70, 1)})
    EXPECT_EQ(ended(first, second).text, run) << first << " " << second;
  EXPECT_EQ(ended(0, 0).status, 0);
  EXPECT_NE(ended(76, 2).status, 0);
}

// srun itself exits with 1, for example if it cannot create a step.
TEST_F(PodManifest, SlurmScriptIsNotRequeuedAfterSrunErrorsOrTooManyRestarts) {
  fake("scontrol", "echo scontrol \"$@\"");
  const std::string path =
      manifest(str(recipe_, " --kind slurm --on h100x8 --hosts 2 --set out=/net/jes"));
  const auto ended = [&](int status, int restarts) {
    fake("srun", str("exit ", status));
    return run_with_fakes(str("SLURM_JOB_ID=7 SLURM_RESTART_COUNT=", restarts, " bash ", path));
  };
  const std::string queued = "scontrol requeue 7\n";
  EXPECT_EQ(ended(1, 0).text, "");
  EXPECT_EQ(ended(1, 0).status, 1);
  EXPECT_EQ(ended(99, 0).text, "");
  EXPECT_EQ(ended(76, 199).text, queued);
  EXPECT_EQ(ended(75, 200).text, queued);
  for (const int status : {76, 139})
    EXPECT_EQ(ended(status, 200).text,
              "not queued again after 200 starts: sbatch this file again to resume\n");
}

// SLURM signals all processes of a step, including the shell that started smelt.
TEST_F(PodManifest, SlurmScriptWaitsForSmeltToSaveAfterASignal) {
  fake("srun", str("shift; set -m; \"$@\" & until [ -e ", file("begun"),
                   " ]; do sleep 0.02; done; kill -TERM -- -$!; wait $!"));
  fake("scontrol", "echo scontrol \"$@\"");
  fake("smelt", str("trap 'sleep 0.2; echo saved; exit 75' TERM; touch ", file("begun"),
                    "; while :; do sleep 0.02; done"));
  const std::string path =
      manifest(str(recipe_, " --kind slurm --on h100x8 --hosts 2 --set out=/net/jes"));
  EXPECT_THAT(run_with_fakes(str("SLURM_JOB_ID=7 bash ", path)).text,
              testing::EndsWith("saved\nscontrol requeue 7\n"));
}

TEST_F(PodManifest, SkyPilotManifestIsAValidTask) {
  REQUIRE_ORACLE();
  const Json tpu = documents("skypilot", manifest(on_tpu_ + " --kind skypilot --spot"))[0];
  EXPECT_EQ(tpu["resources"]["accelerators"], "tpu-v2-32:1");
  EXPECT_EQ(tpu["resources"]["job_recovery"]["recover_on_exit_codes"], (Json{75, 129, 143}));
  EXPECT_EQ(tpu["num_nodes"], 1);
  EXPECT_EQ(tpu["file_mounts"], (Json{{"~/jes.yaml", recipe_}}));
  const Json gpu = documents("skypilot", manifest(str(recipe_,
                                                      " --kind skypilot --on a100-80gbx8 "
                                                      "--hosts 2 --set out=s3://b/j")))[0];
  EXPECT_EQ(gpu["resources"]["accelerators"], "A100-80GB:8");
  EXPECT_EQ(gpu["num_nodes"], 2);
  io::write_file(file("run"), gpu["run"].get<std::string>());
  EXPECT_THAT(gpu["run"], HasSubstr("5 starts in a row"));
  EXPECT_EQ(run_with_fakes("HOME=/home/me SKYPILOT_NUM_NODES=2 SKYPILOT_NODE_RANK=1 "
                           "SKYPILOT_NODE_IPS=\"$(printf '10.0.0.1\\n10.0.0.2')\" bash run")
                .text,
            "smelt\n<run>\n</home/me/j.yaml>\n<--set>\n<out=s3://b/j>\n<--set>\n<train.device=gpu>"
            "\n<--set>\n<train.devices=16>\n<--processes>\n<2>\n<--process>\n<1>\n<--hub>\n"
            "<10.0.0.1>\n");
}

TEST_F(PodManifest, RejectsUnsupportedCombinations) {
  const auto refused = [&](const std::string& words, const std::string& text) {
    expect_refusal(str("pod manifest ", recipe_, " ", words), HasSubstr(text));
  };
  refused("--kind tpu-vm --on v2-32 --set out=gs://b/x",
          "--kind tpu-vm needs a zone\n  hint: add --zone");
  refused("--kind jobset --on v4-32 --set out=gs://b/x",
          "needs a container image that contains smelt");
  refused("--kind jobset --on v2-32 --image i --set out=gs://b/x",
          "GKE has no multi-host node pool for a v2-32\n  hint: use --kind tpu-vm");
  refused(
      "--kind tpu-vm --on v2-32 --zone z",
      "out is jestimator-bert-base, which the machines do not share\n  hint: use --set out=gs://");
  refused("--kind slurm --on v2-32", "--kind slurm is for GPUs, not for v2-32");
  refused("--kind slurm", " is unknown\n  hint: add --on h100x8");
  refused("--kind tpu-vm --on h100x8", "--kind tpu-vm is for TPUs, not for h100x8");
  refused("--kind skypilot --on v2-32,v3-32", "names 2 types");
  refused("--kind skypilot --on v2-33", "'v2-33' is not a known TPU or GPU type");
  refused("--kind skypilot --on v2-32 --hosts 3", "--hosts 3 with --on v2-32, which has 4");
  refused("--kind skypilot --on v2-32 --set out=gs://b/x --name A_b", "hint: --name a-b");
  refused("--kind pbs", "--kind");
}

}  // namespace
}  // namespace smelt::cli
