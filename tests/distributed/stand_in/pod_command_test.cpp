// The real program in the processes of a pod gives the files and losses of one process.
#include "distributed/stand_in/pod_command.h"

#include "evaluation/tracking/run_record.h"
#include "io/filesystem/path.h"
#include "support/environment.h"

namespace smelt::distributed {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// With data parallelism.
TEST_F(PodCommand, BertOnTwoProcessesMatchesOneProcess) {
  write_recipe("bert", 8, 4);
  run_alone("alone");
  Pod pod({.processes = 2, .devices_each = 4});
  ASSERT_THAT(pod.run(run("pod", 2)), Each(0)) << pod.said(0) << pod.said(1);
  for (const char* folder : {"model/checkpoint-2", "model/checkpoint-4"})
    expect_same_files(str("pod/", folder), str("alone/", folder));
  for (const char* file : {"vocab.txt", "data/train.tfrecord", "model/eval_results.txt",
                           "huggingface/model.safetensors"})
    EXPECT_EQ(io::read_file(dir_.file(str("pod/", file))),
              io::read_file(dir_.file(str("alone/", file))));
  EXPECT_THAT(pod.said(0), AllOf(HasSubstr("pod: process 0 of 2, rank 0 at 127.0.0.1:"),
                                 HasSubstr("***** Eval results *****"), HasSubstr("next:")));
  EXPECT_THAT(pod.said(1), testing::MatchesRegex("[0-9:]+ pod: process 1 of 2, [^\n]*\n"))
      << "one speaks";
  ASSERT_THAT(pod.run(run("pod", 2)), Each(0)) << "again";
  EXPECT_THAT(pod.said(0), AllOf(HasSubstr("train: up to date"), Not(HasSubstr("started"))));
}

// Only process 0 runs inference with the trained model, for the predictions next to its metrics.
TEST_F(PodCommand, ClassifierOnTwoProcessesGivesTheMetricsAndPredictionsOfOne) {
  write_recipe("bert", 1, 2);
  run_alone("base");
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 40; ++i)
    rows += str(i % 2 == 0 ? "the cat sees a dog\tcats" : "some birds follow\tbirds", "\n");
  io::write_file(dir_.file("rows.tsv"), rows);
  io::write_file(recipe(),
                 str("data: {train: ", dir_.file("rows.tsv"), ", seq_length: 16, ",
                     "validation_share: 0.3}\nmodel: {type: classify}\ntrain: {device: cpu, "
                     "devices: 4, batch_size: 8, steps: 2, init_from: ",
                     dir_.file("base/huggingface"), "}\neval: {batch_size: 8}\n"));
  run_alone("alone");
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run(run("pod", 2)), Each(0)) << pod.said(0) << pod.said(1);
  for (const char* file : {"model/eval_results.txt", "model/predictions.jsonl"})
    EXPECT_EQ(io::read_file(dir_.file(str("pod/", file))),
              io::read_file(dir_.file(str("alone/", file))));
}

std::vector<double> curve_of(const std::string& model) {
  std::vector<double> out;
  for (const evaluation::CurvePoint& point : evaluation::read_run(model).lines.at("loss"))
    out.push_back(point.value);
  return out;
}

// With the default settings of a TPU, on a mesh that shards parameters.
TEST_F(PodCommand, ElectraOnAMeshWithTpuSettingsMatchesOneProcess) {
  write_recipe("electra", 8, 4);
  const std::vector<std::string> form{"train.parallelism.mesh=data=2,fsdp=4",
                                      "train.memory.layers=scan",
                                      "train.memory.remat_policy=products"};
  run_alone("alone", "--set " + join(form, " --set "));
  Pod pod({.processes = 2, .devices_each = 4});
  ASSERT_THAT(pod.run(run("pod", 2, form)), Each(0)) << pod.said(0) << pod.said(1);
  const auto want = curve_of(dir_.file("alone")), got = curve_of(dir_.file("pod"));
  ASSERT_EQ(got.size(), want.size());
  ASSERT_EQ(want.size(), 4u);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5 * want[i]);
  EXPECT_EQ(evaluation::read_run(dir_.file("pod")).valid.size(),
            evaluation::read_run(dir_.file("alone")).valid.size());
}

// With data parallelism and unrolled layers.
TEST_F(PodCommand, ElectraOnTwoProcessesMatchesOneProcess) {
  write_recipe("electra", 8, 2);
  run_alone("alone");
  Pod pod({.processes = 2, .devices_each = 4});
  ASSERT_THAT(pod.run(run("pod", 2)), Each(0)) << pod.said(0) << pod.said(1);
  expect_same_files("pod/model/checkpoint-2", "alone/model/checkpoint-2");
}

// Tests tools/pod, which simulates a pod on one machine.
TEST_F(PodCommand, PodToolPrefixesOutputLinesWithTheProcess) {
  write_recipe("bert", 2, 2);
  const std::string tool = source_path("tools/pod");
  const ScopedVariable build("SMELT_BUILD", io::parent_path(smelt_program()));
  const CommandOutput out = run_command(
      str(tool, " --as cpu 2 1 -- smelt run ", recipe(), " --set out=", dir_.file("pod")));
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(out.text, AllOf(HasSubstr("[1] "), HasSubstr("pod: process 1 of 2, rank 0 at"),
                              HasSubstr("[0] ***** Eval results *****")));
  EXPECT_TRUE(io::exists(dir_.file("pod/model/checkpoint-2/COMMIT")));
  const ScopedVariable none("SMELT_BUILD", "none");
  const CommandOutput missing = run_command(tool + " 2 1 -- smelt run r.yaml");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.text, HasSubstr("the stand-in is not built\n  hint: cmake --preset release"));
}

class PodJestimator : public PodCommand {
 protected:
  void SetUp() override {
    PodCommand::SetUp();
    const std::string golden = source_path("tests/golden/pretraining/");
    for (const char* name : {"train", "valid"}) {
      const CommandOutput made =
          run_smelt(str("data tokens --input ", golden, "english.txt --vocab ", golden,
                        "vocab_uncased.txt --out ", dir_.file(name), ".tokens"));
      ASSERT_EQ(made.status, 0) << made.text;
    }
  }
  // The flags of the tutorial, with small sizes.
  std::vector<std::string> command(const std::string& model, int steps) const {
    return {"jestimator",
            "--module_imp=jestimator.models.bert.pretrain",
            "--module_config=jestimator/models/bert/pretrain.py",
            "--module_config.model_config.vocab_size=345",
            "--module_config.mask_token_id=4",
            "--module_config.model_config.max_length=16",
            "--module_config.model_config.hidden_size=32",
            "--module_config.model_config.num_heads=2",
            "--module_config.model_config.num_layers=1",
            "--module_config.model_config.mlp_size=64",
            "--module_config.opt_config.optimizer=amos",
            "--module_config.opt_config.learning_rate=0.01",
            "--module_config.opt_config.warmup_steps=4",
            "--train_pattern=" + dir_.file("train.tok*s"),
            "--valid_pattern=" + dir_.file("valid.tokens"),
            "--model_dir=" + dir_.file(model),
            "--train_batch_size=8",
            "--valid_batch_size=8",
            "--num_valid_examples=8",
            "--check_every_steps=3",
            str("--max_train_steps=", steps),
            "--random_seed=7",
            "--devices=8",
            "--logtostderr"};
  }
};

TEST_F(PodJestimator, StopsAndResumesOnFourProcesses) {
  constexpr int kSteps = 60;
  const CommandOutput alone = run_smelt(join(command("alone", kSteps), " "));
  ASSERT_EQ(alone.status, 0) << alone.text;
  Pod pod({.processes = 4, .devices_each = 2});
  const auto words = smelt(command("pod", kSteps), 4);
  for (int process = 0; process < 4; ++process) pod.start(process, words);
  ASSERT_TRUE(waits_for_file(pod, 0, dir_.file("pod/checkpoint_3/manifest.json"))) << pod.said(0);
  pod.send(2, SIGTERM);
  for (int process = 0; process < 4; ++process)
    EXPECT_EQ(pod.wait(process), 75) << pod.said(process);
  const std::string stopped = pod.said(0);
  const std::string kBegin = "stopped: train: stopped by a signal at step ";
  const auto at = stopped.find(kBegin);
  ASSERT_NE(at, stopped.npos) << stopped;
  const int step = std::stoi(stopped.substr(at + kBegin.size()));
  ASSERT_LT(step, kSteps);
  EXPECT_TRUE(io::exists(dir_.file(str("pod/checkpoint_", step, "/COMMIT"))));
  ASSERT_THAT(pod.run(words), Each(0)) << pod.said(0);
  EXPECT_THAT(pod.said(0), HasSubstr(str("checkpoint_", step)));
  expect_same_files(str("pod/checkpoint_", kSteps), str("alone/checkpoint_", kSteps));
}

TEST_F(PodJestimator, RejectsANumberOfDevicesOtherThanThatOfAllProcesses) {
  Pod pod({.processes = 2, .devices_each = 4});
  auto words = command("pod", 3);
  words.emplace_back("--devices=1");
  EXPECT_THAT(pod.run(smelt(words, 2)), Each(2));
  EXPECT_THAT(pod.said(0), HasSubstr("train: --devices is 1, the 2 processes of this run have 8 "
                                     "devices\n  hint: set it to 8"));
}

TEST_F(PodJestimator, RejectsModesForASingleProcess) {
  Pod pod({.processes = 2, .devices_each = 4});
  auto words = command("pod", 3);
  words.emplace_back("--mode=eval_wait");
  words.push_back("--eval_pattern=" + dir_.file("valid.tokens"));
  EXPECT_THAT(pod.run(smelt(words, 2)), Each(2));
  EXPECT_THAT(pod.said(0),
              HasSubstr("--mode=eval_wait runs in one process only, but there are 2\n  hint: "
                        "start it in one process, with --processes 1"));
}

}  // namespace
}  // namespace smelt::distributed
