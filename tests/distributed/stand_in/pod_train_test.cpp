// Trains with several processes of the stand-in, a hub and one model folder, and compares with the
// same run in one process that has as many devices.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/preprocess/bert_examples.h"
#include "distributed/coordination_service.h"
#include "distributed/stand_in/pod_run.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "runs/small_run.h"
#include "support/command.h"

namespace smelt::distributed {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTrainMember = SMELT_POD_MEMBER;

class PodRun : public SmallRun {
 protected:
  std::vector<std::string> command(const std::string& model, const std::string& arguments) const {
    std::vector<std::string> out{kTrainMember, "job", dir_.path(), model};
    for (const std::string_view word : split(arguments, ' ')) out.emplace_back(word);
    return out;
  }
  // Runs the job in one process.
  void alone(const std::string& model, const std::string& arguments) const {
    const CommandOutput out = run_command(join(command(model, arguments), " "));
    ASSERT_EQ(out.status, 0) << out.text;
  }
  std::string checkpoint(const std::string& model, std::int64_t step) const {
    return dir_.file(str(model, "/checkpoint-", step));
  }
  // Allows for rounding: sums may be in another order.
  void expect_close(const std::string& a, const std::string& b, std::int64_t step) const {
    const auto want = state(a, step), got = state(b, step);
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, values] : want) {
      const auto& other = got.at(name);
      ASSERT_EQ(other.size(), values.size()) << name;
      float largest = 0;
      for (const float x : values) largest = std::max(largest, std::abs(x));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(other[i], values[i], 1e-3 * largest + 1e-8) << name << " " << i;
    }
  }
  void expect_same_files(const std::string& a, const std::string& b) const {
    const auto names = io::list_folder(a);
    ASSERT_EQ(names, io::list_folder(b));
    EXPECT_GE(names.size(), 3u);
    for (const std::string& name : names)
      EXPECT_EQ(io::read_file(a + "/" + name), io::read_file(b + "/" + name)) << name;
  }
};

TEST_F(PodRun, ReplicasSaveTheBytesOfOneProcess) {
  alone("alone", "8 4 replicas unrolled");
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run(command("pod", "8 4 replicas unrolled")), Each(0)) << pod.said(0);
  for (const int step : {5, 8})
    expect_same_files(checkpoint("pod", step), checkpoint("alone", step));
  EXPECT_EQ(io::list_folder(dir_.file("pod")), io::list_folder(dir_.file("alone")));
}

// Two sequences fit into each row of 32 tokens.
TEST_F(PodRun, PacksSequencesAsOneProcessDoes) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += str("a ", i % 10, "\nb c\n\n");
  io::write_file(dir_.file("short.txt"), text);
  data::BertExamplesJob records;
  records.text.input = dir_.file("short.txt");
  records.vocab = vocab();
  records.output = dir_.file("train.tfrecord");
  records.overwrite = true;
  records.pairs.seq_length = 32;
  records.pairs.max_predictions = 5;
  data::build_bert_examples(records);
  alone("padded", "8 4 replicas unrolled");
  alone("alone", "8 4 replicas unrolled packed");
  expect_close("padded", "alone", 8);
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run(command("pod", "8 4 replicas unrolled packed")), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(0),
              HasSubstr("train: packing on: 8 examples of a step fit into 4 rows of 32"));
  expect_same_files(checkpoint("pod", 8), checkpoint("alone", 8));
}

TEST_F(PodRun, SignalToOneProcessStopsAllAtTheSameStepAndResumes) {
  alone("alone", "8 4 replicas unrolled");
  Pod pod({.processes = 2, .devices_each = 2});
  EXPECT_THAT(pod.run(command("pod", "8 4 replicas unrolled stop 2")), Each(75)) << pod.said(0);
  for (int process = 0; process < 2; ++process)
    EXPECT_THAT(pod.said(process), HasSubstr("stopped by a signal at step 4 of 8; saved"));
  ASSERT_THAT(pod.run(command("pod", "8 4 replicas unrolled")), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(1), HasSubstr("checkpoint-4"));
  expect_same_files(checkpoint("pod", 8), checkpoint("alone", 8));
}

// The processes exchange no message for this: the result of an evaluation batch carries the signal.
TEST_F(PodRun, SignalToOneProcessInterruptsEvaluationOnAllAndResumes) {
  alone("alone", "8 4 replicas unrolled validate");
  Pod pod({.processes = 2, .devices_each = 2});
  EXPECT_THAT(pod.run(command("pod", "8 4 replicas unrolled cut 4")), Each(75)) << pod.said(0);
  for (int process = 0; process < 2; ++process)
    EXPECT_THAT(pod.said(process), HasSubstr("stopped by a signal at step 4 of 8; saved"));
  ASSERT_THAT(pod.run(command("pod", "8 4 replicas unrolled validate")), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(0), HasSubstr("checkpoint-4"));
  expect_same_files(checkpoint("pod", 8), checkpoint("alone", 8));
}

TEST_F(PodRun, SignalToOneProcessInterruptsEvaluationOnAMesh) {
  Pod pod({.processes = 2, .devices_each = 1});
  EXPECT_THAT(pod.run(command("pod", "4 2 fsdp=2 scan cut 2")), Each(75)) << pod.said(0);
  EXPECT_THAT(pod.said(0), HasSubstr("stopped by a signal at step 2 of 4; saved"));
}

TEST_F(PodRun, SignalAfterTheLastStepIsReportedByAllProcesses) {
  Pod pod({.processes = 2, .devices_each = 1});
  EXPECT_THAT(pod.run(command("pod", "4 2 replicas unrolled stop 4")), Each(0)) << pod.said(0);
  for (int process = 0; process < 2; ++process)
    EXPECT_THAT(pod.said(process), HasSubstr("signalled after the last step"));
}

TEST_F(PodRun, LostProcessIsNamedAndTheRunResumesBitIdentically) {
  alone("alone", "8 4 replicas unrolled");
  Pod pod({.processes = 2, .devices_each = 2});
  EXPECT_THAT(pod.run(command("pod", "8 4 replicas unrolled die 6")), ElementsAre(kPodExit, 9));
  EXPECT_THAT(pod.said(0), HasSubstr("host 1"));
  ASSERT_THAT(pod.run(command("pod", "8 4 replicas unrolled")), Each(0)) << pod.said(0);
  expect_same_files(checkpoint("pod", 8), checkpoint("alone", 8));
}

TEST_F(PodRun, ResumesBitIdenticallyAfterALostProcessWithTpuSettings) {
  const std::string form = "8 4 data=2,fsdp=2 tpu";
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run(command("whole", form)), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.run(command("pod", form + " die 6")), ElementsAre(kPodExit, 9));
  ASSERT_THAT(pod.run(command("pod", form)), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(0), HasSubstr("checkpoint-5"));
  expect_same_files(checkpoint("pod", 8), checkpoint("whole", 8));
}

TEST_F(PodRun, MeshCheckpointResumesOnAnotherNumberOfProcesses) {
  for (const int steps : {5, 6, 7}) alone("alone", str(steps, " 4 data=2,fsdp=2 scan"));
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run(command("pod", "5 4 fsdp=4 scan")), Each(0)) << pod.said(0);
  expect_close("alone", "pod", 5);
  alone("pod", "6 4 data=2,fsdp=2 scan");
  expect_close("alone", "pod", 6);
  ASSERT_THAT(pod.run(command("pod", "7 4 fsdp=4 scan")), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(0), HasSubstr("checkpoint-6"));
  expect_close("alone", "pod", 7);
}

TEST_F(PodRun, RejectsDifferingSettingsByName) {
  Pod pod({.processes = 2, .devices_each = 1});
  EXPECT_THAT(pod.run(command("pod", "8 2 replicas unrolled another")), Each(2));
  for (int process = 0; process < 2; ++process)
    EXPECT_THAT(pod.said(process),
                AllOf(HasSubstr("seed"), HasSubstr("on host 0"), HasSubstr("on host 1"),
                      HasSubstr("hint: start the same command with the same files on all hosts")));
  EXPECT_FALSE(io::exists(dir_.file("pod")));
}

// The compiled program is the same for any number of steps, so the steps must be compared too.
TEST_F(PodRun, RejectsDifferingStepsByName) {
  Pod pod({.processes = 2, .devices_each = 1});
  EXPECT_THAT(pod.run(command("pod", "8 2 replicas unrolled longer")), Each(2));
  EXPECT_THAT(pod.said(0), AllOf(HasSubstr("train.steps"), HasSubstr("on host 1")));
  EXPECT_FALSE(io::exists(dir_.file("pod/checkpoint-2")));
}

}  // namespace
}  // namespace smelt::distributed
