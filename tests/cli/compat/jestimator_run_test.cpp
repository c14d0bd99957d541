// smelt jestimator with the original's flags, from training to predictions, and its messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/tfrecord.h"
#include "io/formats/wire.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

using Scalars = std::map<std::int64_t, std::map<std::string, float>>;  // by step and tag

// Returns the scalars that TensorBoard shows for a folder. The start event of a resumed run
// discards the scalars from its step on.
Scalars scalars_of(const std::string& folder) {
  Scalars out;
  for (const std::string& name : io::list_folder(folder)) {
    if (!name.starts_with("events.out.tfevents.")) continue;
    const std::string bytes = io::read_file(io::join_path(folder, name));
    io::RecordReader records(bytes);
    while (const auto record = records.next()) {
      io::WireReader event(*record);
      std::int64_t step = 0;
      while (const auto field = event.next()) {
        if (field->number == 2) step = field->integer();
        if (field->number == 7) out.erase(out.lower_bound(step), out.end());
        if (field->number != 5) continue;
        io::WireReader summary(field->bytes);
        while (const auto value = summary.next()) {
          io::WireReader scalar(value->bytes);
          const std::string tag(scalar.next()->bytes);
          if (tag.starts_with("run/") || tag.starts_with("_hparams_")) continue;
          out[step][tag] = scalar.next()->f32();
        }
      }
    }
  }
  return out;
}

class JestimatorRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    const std::string golden = source_path("tests/golden/pretraining/");
    for (const char* name : {"train", "valid"}) {
      const CommandOutput made =
          run_smelt(str("data tokens --input ", golden, "english.txt --vocab ", golden,
                        "vocab_uncased.txt --out ", dir_.file(name), ".tokens"));
      ASSERT_EQ(made.status, 0) << made.text;
    }
  }

  // Runs smelt jestimator with a tiny model on windows of 16 tokens. The model folder is
  // dir_/<model> or in a bucket.
  CommandOutput estimator(const std::string& model, const std::string& flags) const {
    return run_smelt(str(
        "jestimator --module_imp=jestimator.models.bert.pretrain --logtostderr ",
        "--module_config=jestimator/models/bert/pretrain.py ",
        "--module_config.model_config.vocab_size=345 --module_config.mask_token_id 4 ",
        "--module_config.model_config.max_length=16 --module_config.model_config.hidden_size=32 ",
        "--module_config.model_config.num_heads=2 --module_config.model_config.num_layers=1 ",
        "--module_config.model_config.mlp_size=64 --module_config.opt_config.optimizer=amos ",
        "--module_config.opt_config.learning_rate=0.01 --module_config.opt_config.warmup_steps=4 ",
        "--model_dir='", io::is_remote(model) ? model : dir_.file(model), "' ", flags));
  }
  std::string training(int steps) const {
    return str("--train_pattern=", dir_.file("train"),
               ".tok*s --valid_pattern=", dir_.file("valid"),
               ".tokens --train_batch_size=4 --valid_batch_size=4 --num_valid_examples=9 ",
               "--check_every_steps=3 --random_seed=7 --max_train_steps=", steps, " ");
  }
  void train(const std::string& model, int steps, const std::string& flags = "") const {
    const CommandOutput out = estimator(model, training(steps) + flags);
    ASSERT_EQ(out.status, 0) << out.text;
  }
  std::vector<std::string> files(const std::string& folder) const {
    return io::list_folder(dir_.file(folder));
  }
  std::string tensors(const std::string& checkpoint) const {
    return io::read_file(dir_.file(checkpoint + "/tensors-00000-of-00001.safetensors"));
  }
  std::string refused(const std::string& flags) const {
    const CommandOutput out = estimator("refused", flags);
    EXPECT_EQ(out.status, 2) << out.text;
    return out.text;
  }
  TempDir dir_;
};

TEST_F(JestimatorRun, WritesScalarsAndCheckpointsWithTheOriginalNames) {
  const CommandOutput out = estimator("m", training(6) + "--save_every_steps=6 --max_ckpt=2");
  ASSERT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(out.text,
              AllOf(HasSubstr("module_config jestimator/models/bert/pretrain.py"),
                    HasSubstr("train_loss at step 3: "), HasSubstr("valid_loss at step 3: "),
                    HasSubstr("valid_mrr at step 6: "), HasSubstr("mlm_head/"),
                    HasSubstr("training finished at step 6")));
  EXPECT_THAT(files("m"), UnorderedElementsAre("checkpoint_3", "checkpoint_6", "save",
                                               "jestimator.json", "metrics.jsonl", "train"));
  EXPECT_THAT(files("m/save"), ElementsAre("checkpoint_6"));
  const Scalars scalars = scalars_of(dir_.file("m/train"));
  ASSERT_EQ(scalars.size(), 2u);
  const auto& last = scalars.at(6);
  for (const char* tag : {"train/train_loss", "train/valid_loss", "train/valid_mrr",
                          "params/encoder/embedder_block/token_embed/embedding (345, 32)"})
    EXPECT_TRUE(last.contains(tag)) << tag;
  EXPECT_THAT(out.text, Not(HasSubstr("is it the vocabulary's mask?")));
  EXPECT_GT(last.at("train/valid_loss"), 0);
  EXPECT_LT(last.at("train/valid_loss"), scalars.at(3).at("train/valid_loss"));
}

TEST_F(JestimatorRun, ResumedRunMatchesAnUninterruptedRun) {
  train("whole", 9);
  train("killed", 6);
  // As if the run was killed after it had logged the metrics of step 6, but before that checkpoint.
  io::remove_tree(dir_.file("killed/checkpoint_6"));
  train("killed", 9);
  EXPECT_EQ(tensors("killed/checkpoint_9"), tensors("whole/checkpoint_9"));
  EXPECT_EQ(scalars_of(dir_.file("killed/train")), scalars_of(dir_.file("whole/train")));
  // With --parity a resumed run reads the data from the beginning again, as the original JEstimator
  // does, so its weights differ from those of the uninterrupted run.
  train("replayed", 3);
  train("replayed", 6, "--parity");
  EXPECT_NE(tensors("replayed/checkpoint_6"), tensors("whole/checkpoint_6"));
}

TEST_F(JestimatorRun, TrainsAndEvaluatesInABucket) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const std::string model = emulator.path("models/m");
  train(model, 3);
  train(model, 6);
  const Scalars scalars = scalars_of(io::join_path(model, "train"));
  ASSERT_EQ(scalars.size(), 2u);
  EXPECT_TRUE(scalars.at(6).contains("train/valid_mrr"));
  const CommandOutput wait = estimator(
      model, str("--mode=eval_wait --eval_pattern=", dir_.file("valid"),
                 ".tokens --eval_batch_size=4 --max_train_steps=6 --save_low=valid_loss"));
  ASSERT_EQ(wait.status, 0) << wait.text;
  EXPECT_TRUE(io::exists(io::join_path(model, "eval/low_valid_loss/checkpoint_6/COMMIT")));
}

TEST_F(JestimatorRun, EvaluatesOnceOrAfterEachCheckpoint) {
  train("m", 9);
  const std::string data = str("--eval_pattern=", dir_.file("valid"),
                               ".tokens --eval_batch_size=4 --max_train_steps=9 ");
  const CommandOutput once = estimator("m", data + "--mode=eval_once");
  ASSERT_EQ(once.status, 0) << once.text;
  EXPECT_THAT(once.text, AllOf(HasSubstr("global_step = 9\nvalid_loss = "),
                               HasSubstr("valid_mrr = "), HasSubstr(" at step 9")));
  const CommandOutput wait = estimator(
      "m", data + "--mode=eval_wait --save_low=valid_loss --save_high=valid_mrr --max_save=1");
  ASSERT_EQ(wait.status, 0) << wait.text;
  EXPECT_EQ(io::read_file(dir_.file("m/eval/last_evaluated_ckpt")), dir_.file("m/checkpoint_9"));
  const Scalars scalars = scalars_of(dir_.file("m/eval"));
  ASSERT_EQ(scalars.size(), 3u);  // the oldest checkpoint, of step 0, is skipped
  EXPECT_THAT(files("m/eval/low_valid_loss"), UnorderedElementsAre("checkpoint_9", "score"));
  EXPECT_THAT(io::read_file(dir_.file("m/eval/low_valid_loss/score")), testing::StartsWith("-"));
  EXPECT_TRUE(io::exists(dir_.file("m/eval/high_valid_mrr/score")));
  // A loop stacks the tensors of all layers into one; a checkpoint stores them per layer.
  const std::string loop = data + "--mode=eval_wait --layers scan --eval_label=loop --save_low=";
  ASSERT_EQ(estimator("m", loop + "valid_loss").status, 0);
  io::remove_file(dir_.file("m/loop/last_evaluated_ckpt"));
  ASSERT_EQ(estimator("m", loop + "valid_loss").status, 0);
  EXPECT_EQ(tensors("m/loop/low_valid_loss/checkpoint_9"),
            tensors("m/eval/low_valid_loss/checkpoint_9"));
  const CommandOutput kept = estimator(
      "none", str("--mode=eval_once ", data,
                  "--checkpoint_path=", dir_.file("m/eval/low_valid_loss/checkpoint_9/")));
  EXPECT_THAT(kept.text, HasSubstr(once.text.substr(once.text.find("global_step = "))));
  EXPECT_LT(tensors("m/eval/low_valid_loss/checkpoint_9").size(), tensors("m/checkpoint_9").size());
  EXPECT_THAT(estimator("m", data + "--mode=eval_once --module_config.mask_token_id=9").text,
              HasSubstr("checkpoint_9: was trained with mask_token_id 4, not 9"));
  const CommandOutput again = estimator("m", data + "--mode=eval_wait");
  EXPECT_THAT(again.text, AllOf(HasSubstr("eval: the last checkpoint, step 9, is evaluated"),
                                Not(HasSubstr("evaluating"))));
}

// Layers in a loop are the default on a TPU or GPU. The model is split over a mesh.
TEST_F(JestimatorRun, RunsWithLayersInALoopOverSeveralDevices) {
  const std::string form = "--layers scan --devices=2 --mesh fsdp=2 ";
  train("m", 3, form);
  train("m", 6, form);
  const std::string data = str(form, "--eval_pattern=", dir_.file("valid"),
                               ".tokens --eval_batch_size=4 --max_train_steps=6 ");
  EXPECT_THAT(estimator("m", data + "--mode=eval_once").text, HasSubstr("global_step = 6\n"));
  const CommandOutput wait = estimator("m", data + "--mode=eval_wait --save_low=valid_loss");
  ASSERT_EQ(wait.status, 0) << wait.text;
  EXPECT_THAT(files("m/eval/low_valid_loss"), testing::Contains("checkpoint_6"));
}

TEST_F(JestimatorRun, KeepsACheckpointOnlyIfItIsBetter) {
  train("m", 6, "--max_ckpt=1");
  const std::string wait =
      str("--mode=eval_wait --eval_pattern=", dir_.file("valid"),
          ".tokens --eval_batch_size=4 --max_train_steps=6 --save_low=valid_loss "
          "--save_high=valid_mrr");
  io::write_file(dir_.file("m/eval/high_valid_mrr/score"), "0.99");
  ASSERT_EQ(estimator("m", wait).status, 0);  // the oldest is not skipped if it is the last
  EXPECT_THAT(files("m/eval/high_valid_mrr"), ElementsAre("score"));
  const std::string score = io::read_file(dir_.file("m/eval/low_valid_loss/score"));
  for (const char* file : {"last_evaluated_ckpt", "low_valid_loss/checkpoint_6/COMMIT"})
    io::remove_file(dir_.file(str("m/eval/", file)));
  const CommandOutput again = estimator("m", wait);
  EXPECT_THAT(again.text, AllOf(HasSubstr("evaluating "), Not(HasSubstr("so far"))));
  EXPECT_EQ(io::read_file(dir_.file("m/eval/low_valid_loss/score")), score);
  io::write_file(dir_.file("m/checkpoint_6/manifest.json"), "{}");
  io::remove_file(dir_.file("m/eval/last_evaluated_ckpt"));
  EXPECT_THAT(estimator("m", wait).text, AllOf(HasSubstr("manifest.json is damaged"),
                                               HasSubstr("this checkpoint is not evaluated")));
}

TEST_F(JestimatorRun, WritesOnePredictionLinePerExample) {
  train("m", 3);
  const std::string data =
      str("--pred_pattern=", dir_.file("valid"), ".tokens --num_pred_examples=7 ");
  const CommandOutput out =
      estimator("m", str(data, "--pred_batch_size=4 --output=", dir_.file("p.tsv")));
  ASSERT_EQ(out.status, 0) << out.text;
  const std::string lines = io::read_file(dir_.file("p.tsv"));
  EXPECT_THAT(lines, testing::StartsWith("example\tnll\tmrr\n0\t"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 8);
  // The masks depend on the example, not on the batch size.
  estimator("m", str(data, "--pred_batch_size=7 --output=", dir_.file("q.tsv")));
  const std::string other = io::read_file(dir_.file("q.tsv"));
  EXPECT_EQ(lines, other);
}

TEST_F(JestimatorRun, InitializesFromAnotherRunsWeights) {
  train("first", 3);
  const std::string from = str("--checkpoint_path=", dir_.file("first/checkpoint_3"), " ");
  const CommandOutput fresh = estimator("fresh", training(3) + from);
  ASSERT_EQ(fresh.status, 0) << fresh.text;
  EXPECT_THAT(fresh.text, HasSubstr("weights of "));
  EXPECT_THAT(files("fresh"), testing::Contains("checkpoint_0"));
  const CommandOutput counted = estimator("counted", training(6) + from + "--train_load_step");
  ASSERT_EQ(counted.status, 0) << counted.text;
  EXPECT_THAT(files("counted"), UnorderedElementsAre("checkpoint_3", "checkpoint_6",
                                                     "jestimator.json", "metrics.jsonl", "train"));
  // The optimizer slots begin with zeros in both runs, so steps 4 to 6 equal steps 1 to 3.
  EXPECT_EQ(tensors("counted/checkpoint_6"), tensors("fresh/checkpoint_3"));
  const CommandOutput epoch = estimator(
      "epoch", str("--train_pattern=", dir_.file("train"), ".tokens --train_batch_size=32 ",
                   "--train_epochs=1 --random_seed=7 --train_load_step ", from));
  EXPECT_THAT(epoch.text, AllOf(HasSubstr(" are 2 steps"), HasSubstr("finished at step 5")));
  const CommandOutput epochs = estimator(
      "epoch", str("--train_pattern=", dir_.file("train"), ".tokens --train_batch_size=32 ",
                   "--train_epochs=2 --random_seed=7 --train_load_step ", from));
  EXPECT_THAT(epochs.text, AllOf(HasSubstr(" are 5 steps"), HasSubstr("finished at step 8")));
  // A checkpoint_path inside model_dir takes precedence over its newest checkpoint.
  const CommandOutput back = estimator(
      "counted", training(6) + str("--checkpoint_path=", dir_.file("counted/checkpoint_3")));
  EXPECT_THAT(back.text, AllOf(HasSubstr("is in model_dir"), HasSubstr("train_loss at step 6")));
}

TEST_F(JestimatorRun, DryRunCompilesAndReadsDataButWritesNothing) {
  const CommandOutput out = estimator("dry", training(6) + "--dry_run");
  ASSERT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(out.text, AllOf(HasSubstr("dry run: 3 batches of 4 examples read"),
                              HasSubstr("dry run: 2 batches of the evaluation set read")));
  EXPECT_FALSE(io::exists(dir_.file("dry")));
}

TEST_F(JestimatorRun, StopsAfterTheConfiguredEpochs) {
  const CommandOutput out =
      estimator("m", str("--train_pattern=", dir_.file("train"),
                         ".tokens --train_epochs=1 --train_batch_size=32 --check_every_steps=100"));
  ASSERT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(out.text,
              AllOf(HasSubstr("1 epochs of "), HasSubstr("from the clock; --random_seed="),
                    HasSubstr("mode train, inferred from the patterns")));
  EXPECT_EQ(files("m").size(), 5u) << out.text;  // with the checkpoints of step 0 and the last step
}

TEST_F(JestimatorRun, RecipeTokenizesTextAndValidatesDuringTraining) {
  io::write_file(
      dir_.file("r.yaml"),
      "text: {heldout: 0.3, sentences: lines}\nvocab: {size: 300, min_frequency: 1}\n"
      "model: {type: jestimator_bert, max_length: 8, hidden_size: 16, num_layers: 1,"
      " num_heads: 2, mlp_size: 32}\n"
      "train: {batch_size: 4, steps: 4, optimizer.type: amos, schedule.type: jestimator}\n"
      "eval: {batch_size: 4, passes: 2, every: 2}\n");
  const CommandOutput out =
      run_smelt(str("run ", dir_.file("r.yaml"),
                    " --set text.input=", source_path("tests/golden/pretraining/english.txt"),
                    " --set out=", dir_.file("out")));
  ASSERT_EQ(out.status, 0) << out.text;
  EXPECT_TRUE(io::exists(dir_.file("out/data/heldout.tokens")));
  EXPECT_THAT(out.text, AllOf(HasSubstr("valid/masked_lm_loss at step 2: "),
                              HasSubstr("mean reciprocal rank")));
  const Scalars scalars = scalars_of(dir_.file("out/model/train"));
  ASSERT_EQ(scalars.size(), 2u);
  for (const char* tag : {"train/masked_lm_loss", "valid/masked_lm_loss", "valid/mrr"})
    EXPECT_TRUE(scalars.at(4).contains(tag)) << tag;
}

TEST_F(JestimatorRun, RejectsUnsupportedFlags) {
  EXPECT_THAT(refused("--train_pattern=nothing*"), HasSubstr("nothing*"));
  for (const std::string seqio : {"--seqio_additional_cache_dirs", "--train_pattern"})
    EXPECT_THAT(refused(seqio + "=seqio://a/b"),
                HasSubstr(": seqio tasks are not supported\n  hint: "));
  EXPECT_THAT(refused("--train_pattern=a --eval_pattern=b --replay=c"),
              HasSubstr("--replay c: only valid for training, and this command does not train\n"
                        "  hint: add --mode=train and the flags of the training run"));
  EXPECT_THAT(refused("--train_pattern=a --module_config.model_config.hiden_size=3"),
              AllOf(HasSubstr("unknown flag --module_config.model_config.hiden_size"),
                    HasSubstr("did you mean '--module_config.model_config.hidden_size'?")));
  EXPECT_THAT(refused("--train_pattern=a --module_config.model_config.num_layers=many"),
              HasSubstr("--module_config.model_config.num_layers"));
  EXPECT_THAT(refused(training(3) + "--valid_batch_size=1000000 --num_valid_examples=-1"),
              AllOf(HasSubstr("examples, fewer than one batch of 1000000"),
                    HasSubstr("lower --valid_batch_size")));
  EXPECT_THAT(
      refused(training(3) + "--valid_batch_size=10"),
      HasSubstr("--num_valid_examples 9 are fewer than one batch of --valid_batch_size 10"));
  EXPECT_THAT(refused(training(3) + "--module_config.model_config.vocab_size=0"),
              HasSubstr("--module_config.model_config.vocab_size is missing"));
  EXPECT_THAT(
      refused(training(3) + "--module_config.model_config.relative_attention_max_distance=3"),
      HasSubstr("has no such field"));
  EXPECT_THAT(refused(training(3) + "--module_imp=jestimator.models.bart.pretrain"),
              HasSubstr("did you mean 'jestimator.models.bert.pretrain'?"));
  const std::string optimizer = "--module_config.opt_config.";
  for (const auto& [flags, message] : std::vector<std::pair<std::string, std::string>>{
           {optimizer + "momentum=1", "momentum: 1 is not below 1"},
           {optimizer + "beta=0", "beta: 0 is not above 0"},
           {optimizer + "learning_rate=nan", "learning_rate: 'nan' is not a number"},
           {optimizer + "warmup_steps=-5", "warmup_steps: -5 is less than 0"},
           {optimizer + "linear_decay_to_step=4", "linear_decay_to_step 4 is not after warmup_st"},
           {"--module_config.mask_rate=1", "mask_rate: 1 is not below 1"},
           {"--module_config.hidden_size=3",
            "did you mean '--module_config.model_config.hidden_size'"},
           {"--batch_size=3", "`smelt jestimator --help` lists the flags and subcommands"},
           {"--model_dir --dry_run", "--model_dir has no value: --dry_run follows it"},
           {"--model_dir=~/m", "write $HOME/m"},
           {"--save_every_steps=2e3", "expected an integer"},
           {"--checkpoint_path=refused/checkpoint_9", "checkpoint: refused/checkpoint_9 does not"},
           {"--train_epochs=0", "--train_epochs: 0 is less than 1"},
           {"--check_every_steps=0", "--check_every_steps: 0 is less than 1"}})
    EXPECT_THAT(refused(training(3) + flags), HasSubstr(message));
  EXPECT_THAT(refused(training(3) + "--train_consecutive=2"), HasSubstr("--train_consecutive 2"));
  EXPECT_THAT(refused(training(3) + "--num_partitions=2"),
              HasSubstr("--num_partitions 2 does not divide --devices 1"));
  EXPECT_THAT(refused(training(3) + "--model_parallel_submesh=a"), HasSubstr("is not a tuple"));
  EXPECT_THAT(refused(training(3) + "--pred_pattern=a"), HasSubstr("only one mode can run"));
  EXPECT_THAT(refused("--mode=eval_once --eval_pattern=a"), HasSubstr("no checkpoint in"));
  EXPECT_THAT(refused("--mode=train"), HasSubstr("--train_pattern is missing"));
  EXPECT_THAT(refused("--mode=eval_wait"), HasSubstr("--eval_pattern is missing"));
  EXPECT_THAT(refused(""), HasSubstr("--pred_pattern is missing"));
  EXPECT_THAT(refused(str("--mode=eval_wait --eval_pattern=", dir_.file("valid"),
                          ".tokens --save_low=loss")),
              HasSubstr("--save_low: metric 'loss' is unknown"));
  const CommandOutput none =
      run_smelt(str("jestimator --module_imp=jestimator.models.bert.pretrain ",
                    "--module_config.model_config.vocab_size=345 --model_dir=x ", training(3)));
  EXPECT_THAT(none.text, HasSubstr("--module_config.mask_token_id is missing"));
}

}  // namespace
}  // namespace smelt::cli
