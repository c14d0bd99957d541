// How a pod of the real program ends if one of its processes dies, hangs or has different settings,
// and how the run resumes.
#include <sys/resource.h>

#include "distributed/stand_in/pod_command.h"

namespace smelt::distributed {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr int kPodLost = 76;

class PodFailure : public PodCommand {
 protected:
  static constexpr int kManySteps = 400;
  void start(Pod& pod, const std::vector<std::string>& words) const {
    for (int process = 0; process < 2; ++process) pod.start(process, words);
    ASSERT_TRUE(waits_for_file(pod, 0, dir_.file("pod/model/checkpoint-2/manifest.json")))
        << pod.said(0) << pod.said(1);
  }
};

TEST_F(PodFailure, KilledProcessIsNamedAndTheSameCommandResumes) {
  write_recipe("bert", 2, kManySteps);
  Pod pod({.processes = 2, .devices_each = 1});
  start(pod, run("pod", 2));
  const std::string killed = str("host 1 (");
  const auto pid = pod.pid(1);
  pod.send(1, SIGKILL);
  EXPECT_EQ(pod.wait(1), 128 + SIGKILL);
  EXPECT_EQ(pod.wait(0), kPodLost);
  EXPECT_THAT(pod.said(0), AllOf(HasSubstr("error: pod: host 1 ("), HasSubstr(str("pid ", pid)),
                                 HasSubstr("is gone at ")));
  ASSERT_THAT(pod.run(run("pod", 2, {"train.steps=410"})), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(0), HasSubstr("resuming from "));
}

TEST_F(PodFailure, NamesAProcessWithoutHeartbeat) {
  write_recipe("bert", 2, kManySteps);
  Pod pod({.processes = 2, .devices_each = 1});
  std::vector<std::string> words{"/usr/bin/env", "SMELT_POD_SILENCE=4"};
  for (const std::string& word : run("pod", 2)) words.push_back(word);
  start(pod, words);
  pod.send(1, SIGSTOP);
  EXPECT_EQ(pod.wait(0), kPodLost);
  EXPECT_THAT(pod.said(0), AllOf(HasSubstr("error: pod: host 1 ("), HasSubstr("is gone at "),
                                 HasSubstr("no heartbeat for ")));
}

// Every process prints the error of the process that noticed it, and exits with the status after
// which all processes are started again. Tests a hang during a step, and one while the state is
// copied for a checkpoint.
TEST_F(PodFailure, HangingDevicesEndAllProcessesForARestart) {
  for (const char* saves :
       {"train.checkpoint.save_interval_steps=2", "train.checkpoint.save_interval_steps=1"}) {
    write_recipe("bert", 2, kManySteps);
    Pod pod({.processes = 2, .devices_each = 1});
    start(pod, run("pod", 2, {"train.hang_minutes=0.05", saves}));
    pod.send_to_devices(SIGSTOP);
    for (int process = 0; process < 2; ++process) {
      EXPECT_EQ(pod.wait(process), kPodLost);
      EXPECT_THAT(pod.said(process), HasSubstr(" has not ended after 0.05 minutes: "));
    }
    std::filesystem::remove_all(dir_.file("pod"));
  }
}

// A device may notice the loss of another host before the hub does.
TEST_F(PodFailure, LostDevicesEndAllProcessesForARestart) {
  write_recipe("bert", 2, kManySteps);
  Pod pod({.processes = 2, .devices_each = 1});
  start(pod, run("pod", 2));
  pod.send_to_devices(SIGKILL);
  for (int process = 0; process < 2; ++process) {
    EXPECT_EQ(pod.wait(process), kPodLost);
    EXPECT_THAT(pod.said(process), HasSubstr("the pod's server is gone"));
  }
}

// Each process reads only its own slices of the checkpoint.
TEST_F(PodFailure, AllProcessesSkipADamagedCheckpoint) {
  write_recipe("bert", 4, 4);
  const std::vector<std::string> form{"train.parallelism.mesh=fsdp=4"};
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run(run("pod", 2, form)), Each(0)) << pod.said(0) << pod.said(1);
  const std::string newest = dir_.file("pod/model/checkpoint-4");
  const auto files = io::list_folder(newest);
  const auto last = std::ranges::find_if(
      files.rbegin(), files.rend(), [](const auto& name) { return name.ends_with("tensors"); });
  ASSERT_NE(last, files.rend());
  std::string bytes = io::read_file(newest + "/" + *last);
  bytes.back() ^= 1;
  io::write_file(newest + "/" + *last, bytes);
  ASSERT_THAT(pod.run(run("pod", 2, {form[0], "train.steps=6"})), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(0), AllOf(HasSubstr(str("of ", *last, " is damaged: its crc32c is ")),
                                 HasSubstr("going back to step 2"), HasSubstr("resuming from ")));
}

TEST_F(PodFailure, FullDiskOfOneHostFailsTheSaveButTrainingContinues) {
  write_recipe("bert", 2, 60);
  Pod pod({.processes = 2, .devices_each = 1});
  const auto words = run("pod", 2);
  pod.start(0, words);
  pod.start(1, words);
  rlimit before{};
  ASSERT_EQ(::prlimit(pod.pid(1), RLIMIT_FSIZE, nullptr, &before), 0);
  const rlimit full{.rlim_cur = 8192, .rlim_max = before.rlim_max};
  ASSERT_EQ(::prlimit(pod.pid(1), RLIMIT_FSIZE, &full, nullptr), 0);
  ASSERT_TRUE(waits_for(pod, 0, "training continues")) << pod.said(0) << pod.said(1);
  ASSERT_EQ(::prlimit(pod.pid(1), RLIMIT_FSIZE, &before, nullptr), 0);
  EXPECT_EQ(pod.wait(0), 0) << pod.said(0);
  EXPECT_EQ(pod.wait(1), 0) << pod.said(1);
  EXPECT_THAT(pod.said(0), AllOf(HasSubstr("is not saved: host 1: "), HasSubstr("File too large")));
  EXPECT_THAT(pod.said(1), HasSubstr("error: host 1: train: the state of step "));
  EXPECT_TRUE(io::exists(dir_.file("pod/model/checkpoint-60/COMMIT")));
}

TEST_F(PodFailure, RejectsDifferingRecipesByFieldBeforeWritingAnything) {
  write_recipe("bert", 2, 2);
  Pod pod({.processes = 2, .devices_each = 1});
  pod.start(0, run("pod", 2));
  pod.start(1, run("pod", 2, {"train.optimizer.learning_rate=0.5"}));
  for (int process = 0; process < 2; ++process) {
    EXPECT_EQ(pod.wait(process), 2);
    EXPECT_THAT(
        pod.said(process),
        AllOf(HasSubstr("the recipe: train.optimizer.learning_rate is "),
              HasSubstr("on host 0, 0.5 "
                        "on host 1\n  hint: start the same command with the same recipe on all")));
  }
  EXPECT_FALSE(io::exists(dir_.file("pod")));
}

TEST_F(PodFailure, RejectsFewerDevicesThanThoseOfAllHosts) {
  write_recipe("bert", 1, 2);
  Pod pod({.processes = 2, .devices_each = 2});
  EXPECT_THAT(pod.run(run("pod", 2)), Each(2));
  EXPECT_THAT(pod.said(0),
              HasSubstr("train.devices is 1, but 2 processes train together\n  hint: "
                        "set train.devices to the number of devices of all hosts, such as 32 for"));
  EXPECT_THAT(pod.run(run("pod", 2, {"train.devices=2"})), Each(2));
  for (int process = 0; process < 2; ++process)
    EXPECT_THAT(pod.said(process),
                HasSubstr("2 devices requested, but a run over 2 processes must use all 4\n"
                          "  hint: request 4 devices"));
}

TEST_F(PodFailure, RejectsDifferingProgramBinaries) {
  write_recipe("bert", 2, 2);
  io::write_file(dir_.file("smelt"), io::read_file(smelt_program()) + "x");
  ASSERT_EQ(run_command("chmod +x " + dir_.file("smelt")).status, 0);
  Pod pod({.processes = 2, .devices_each = 1});
  pod.start(0, run("pod", 2));
  auto other = run("pod", 2);
  other[0] = dir_.file("smelt");
  pod.start(1, other);
  for (int process = 0; process < 2; ++process) {
    EXPECT_EQ(pod.wait(process), 2);
    EXPECT_THAT(pod.said(process),
                AllOf(HasSubstr("pod: host 1 ("), HasSubstr("has the program, by its crc32c ")));
  }
}

// Each host has its own vocabulary; only that of one host matches the data.
TEST_F(PodFailure, RejectsDifferingVocabularies) {
  write_recipe("bert", 1, 2);
  run_alone("made");
  const std::string vocab = dir_.file("made/vocab.txt");
  io::write_file(dir_.file("vocab-0.txt"), io::read_file(vocab));
  io::write_file(dir_.file("vocab-1.txt"), io::read_file(vocab) + "another\n");
  Pod pod({.processes = 2, .devices_each = 1});
  for (int process = 0; process < 2; ++process)
    pod.start(process, smelt({"run_pretraining",
                              "--bert_config_file",
                              dir_.file("made/model/bert_config.json"),
                              "--input_file",
                              dir_.file("made/data/train.tfrecord"),
                              "--output_dir",
                              dir_.file("pod"),
                              "--do_train",
                              "--max_seq_length",
                              "16",
                              "--max_predictions_per_seq",
                              "3",
                              "--train_batch_size",
                              "8",
                              "--num_train_steps",
                              "2",
                              "--devices",
                              "2",
                              "--device",
                              "cpu",
                              "--vocab_file",
                              dir_.file(str("vocab-", process, ".txt"))},
                             2));
  EXPECT_EQ(pod.wait(0), 2);
  EXPECT_EQ(pod.wait(1), 2);
  EXPECT_THAT(pod.said(0),
              AllOf(HasSubstr("host 1 ("), HasSubstr("the vocabulary's CRC-32C ("),
                    HasSubstr("make the data again with " + dir_.file("vocab-1.txt"))));
  EXPECT_FALSE(io::exists(dir_.file("pod/checkpoint-2")));
}

TEST_F(PodFailure, UnreadableFileOfOneHostIsReportedOnAll) {
  write_recipe("bert", 2, 2);
  Pod pod({.processes = 2, .devices_each = 1});
  pod.start(0, run("pod", 2));
  auto other = run("pod", 2);
  other[2] = dir_.file("missing.yaml");
  pod.start(1, other);
  for (int process = 0; process < 2; ++process) {
    EXPECT_EQ(pod.wait(process), 2);
    EXPECT_THAT(pod.said(process), HasSubstr("missing.yaml"));
  }
  EXPECT_THAT(pod.said(0), HasSubstr("ends the run: "));
}

}  // namespace
}  // namespace smelt::distributed
