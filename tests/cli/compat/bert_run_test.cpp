// smelt run_pretraining with the flags, messages and files of the original program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "checkpoint/interop/bert_names.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "cli/compat/bert_log.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// The expected texts are str(numpy.float32(…)) of the numbers.
TEST(BertLog, FormatsNumbersLikeNumpy) {
  for (const auto& [value, text] : {std::pair{0.0979674F, "0.0979674"},
                                    {3.45724e-05F, "3.45724e-05"},
                                    {1.0F, "1.0"},
                                    {0.0F, "0.0"},
                                    {1e-4F, "0.0001"},
                                    {123456.78F, "123456.78"},
                                    {1e16F, "1e+16"},
                                    {-2.5F, "-2.5"}})
    EXPECT_EQ(numpy_text(value), text);
  EXPECT_EQ(numpy_text(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(python_shape({8, 128}), "(8, 128)");
  EXPECT_EQ(python_shape({20}), "(20,)");
}

class BertRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    const std::string golden = source_path("tests/golden/pretraining/");
    fs::create_directory(dir_.file("bert"));
    fs::copy_file(golden + "vocab_uncased.txt", dir_.file("bert/vocab.txt"));
    io::write_file(dir_.file("bert/bert_config.json"), config().dump());
    const CommandOutput made =
        run_smelt(str("create_pretraining_data --input_file=", golden, "english.txt",
                      " --output_file=", dir_.file("data.tfrecord"),
                      " --vocab_file=", dir_.file("bert/vocab.txt"),
                      " --do_lower_case=True --max_seq_length=32 --max_predictions_per_seq=5 "
                      "--masked_lm_prob=0.15 --random_seed=12345 --dupe_factor=2"));
    ASSERT_EQ(made.status, 0) << made.text;
  }
  static Json config() {
    return {{"vocab_size", 345},        {"hidden_size", 16},       {"num_hidden_layers", 1},
            {"num_attention_heads", 2}, {"intermediate_size", 32}, {"max_position_embeddings", 32},
            {"type_vocab_size", 2}};
  }
  // Writes a checkpoint like those of released models, which have parameters but no optimizer
  // slots. Leaves out the parameters whose names begin with `left_out`.
  void make_init(const std::string& left_out) const {
    io::LazyTensors tensors;
    for (const checkpoint::ParameterName& name : checkpoint::bert_names(config()))
      if (!name.original.starts_with(left_out))
        tensors.emplace(name.original,
                        io::LazyTensor{name.shape, [shape = name.shape] {
                                         std::vector<float> values(shape.elements());
                                         for (std::size_t i = 0; i < values.size(); ++i)
                                           values[i] = 0.1F * std::sin(1.7F * i);
                                         const auto bytes = std::as_bytes(std::span(values));
                                         return std::vector(bytes.begin(), bytes.end());
                                       }});
    checkpoint::write_tensorflow_checkpoint(dir_.file("bert/bert_model.ckpt"), tensors);
  }
  CommandOutput run(const std::string& flags) const {
    return run_smelt(str("run_pretraining --bert_config_file=", dir_.file("bert/bert_config.json"),
                         " --max_seq_length=32 ", "--max_predictions_per_seq=5 --input_file=",
                         dir_.file("data*.tfrecord"), " --train_batch_size=4 ", flags));
  }
  std::string out() const { return " --output_dir=" + dir_.file("out") + " "; }
  TempDir dir_;
};

TEST_F(BertRun, RunsTheTutorialsContinuedPretraining) {
  make_init("cls/seq_relationship/");
  const std::string flags = out() + "--init_checkpoint=" + dir_.file("bert/bert_model.ckpt") +
                            " --do_train=True --do_eval=True --num_train_steps=20 "
                            "--num_warmup_steps=10 --learning_rate=2e-5 --max_eval_steps=3 "
                            "--save_checkpoints_steps=8 --use_tpu=False --num_tpu_cores=8";
  const CommandOutput ran = run(flags);
  ASSERT_EQ(ran.status, 0) << ran.text;
  EXPECT_THAT(ran.text,
              AllOf(HasSubstr("*** Input Files ***"), HasSubstr("  " + dir_.file("data.tfrecord")),
                    HasSubstr("***** Running training *****"), HasSubstr("  Batch size = 4"),
                    HasSubstr("  name = input_ids, shape = (4, 32)"),
                    HasSubstr("  name = next_sentence_labels, shape = (4, 1)"),
                    HasSubstr("  name = bert/embeddings/word_embeddings:0, shape = (345, 16), "
                              "*INIT_FROM_CKPT*\n"),
                    HasSubstr("  name = cls/seq_relationship/output_bias:0, shape = (2,)\n")));
  EXPECT_THAT(ran.text,
              AllOf(HasSubstr("loaded      28"), HasSubstr("random       2"),
                    HasSubstr("global_step/sec: "), HasSubstr(", step = 20 ("),
                    HasSubstr("***** Running evaluation *****"), HasSubstr("  Batch size = 8"),
                    HasSubstr("***** Eval results *****")));
  EXPECT_THAT(io::read_file(dir_.file("out/eval_results.txt")),
              MatchesRegex("global_step = 20\nloss = [0-9.]+\nmasked_lm_accuracy = [0-9.]+\n"
                           "masked_lm_loss = [0-9.]+\nnext_sentence_accuracy = [0-9.]+\n"
                           "next_sentence_loss = [0-9.]+\n"));
  EXPECT_EQ(checkpoint::checkpoint_steps(dir_.file("out")), (std::vector<std::int64_t>{8, 16, 20}));
  // The TensorFlow checkpoint has 30 variables with two slots each, and the step.
  const checkpoint::TensorflowCheckpoint left(dir_.file("out/model.ckpt-20"));
  EXPECT_EQ(left.entries().size(), 3 * 30u + 1);
  EXPECT_EQ(left.global_step(), 20);
  EXPECT_EQ(checkpoint::tensorflow_prefix(dir_.file("out")), dir_.file("out/model.ckpt-20"));
  // The run's own checkpoint takes precedence over --init_checkpoint.
  const CommandOutput again = run(out() + "--do_eval --max_eval_steps=3 --init_checkpoint=" +
                                  dir_.file("bert/bert_model.ckpt"));
  ASSERT_EQ(again.status, 0) << again.text;
  EXPECT_THAT(io::read_file(dir_.file("out/eval_results.txt")), HasSubstr("global_step = 20\n"));
}

TEST_F(BertRun, ResumesATensorFlowCheckpointWithItsSlots) {
  const std::string flags = " --num_train_steps=6 --num_warmup_steps=2 --do_train ";
  ASSERT_EQ(run("--output_dir=" + dir_.file("whole") + flags).status, 0);
  ASSERT_EQ(run("--output_dir=" + dir_.file("half") + flags + "--save_checkpoints_steps=3").status,
            0);
  // Writes the checkpoint of step 3 in the original's format.
  ASSERT_EQ(
      run_smelt(str("convert ", dir_.file("half/checkpoint-3"), " ", dir_.file("out/model.ckpt-3")))
          .status,
      0);
  const CommandOutput on = run(out() + flags);
  ASSERT_EQ(on.status, 0) << on.text;
  EXPECT_THAT(on.text, HasSubstr("out/model.ckpt-3"));
  const checkpoint::Checkpoint whole = checkpoint::load_checkpoint(dir_.file("whole"), 6);
  const checkpoint::Checkpoint joined = checkpoint::load_checkpoint(dir_.file("out"), 6);
  for (const auto& [name, tensor] : whole.tensors)
    EXPECT_TRUE(std::ranges::equal(tensor.data, joined.tensors.at(name).data)) << name;
}

// Layers in a loop are the default on a TPU or GPU. The devices form a mesh or hold copies.
TEST_F(BertRun, RunsWithLayersInALoopOverSeveralDevices) {
  const std::string form = out() + "--layers scan --device auto --save_checkpoints_steps=2 ";
  const auto reduction = [&](int step) {
    return checkpoint::checkpoint_state(dir_.file(str("out/checkpoint-", step)))["reduction"];
  };
  const auto train = [&](int steps, const std::string& devices) {
    const CommandOutput ran = run(
        str(form, devices, " --do_train --do_eval --max_eval_steps=1 --num_train_steps=", steps));
    ASSERT_EQ(ran.status, 0) << ran.text;
    EXPECT_THAT(io::read_file(dir_.file("out/eval_results.txt")),
                HasSubstr(str("global_step = ", steps)));
  };
  const std::string mesh = "--devices 2 --mesh fsdp=2";
  train(2, mesh);
  train(4, mesh);
  EXPECT_EQ(reduction(4), "global");
  // Devices that hold a copy of the model each clip their own gradient, like those of the original.
  EXPECT_THAT(run(form + "--devices 2 --reduction per_replica --do_train --num_train_steps=5").text,
              HasSubstr("was made with --reduction \"global\", this run has \"per_replica\""));
  train(5, "--devices 2");
  EXPECT_EQ(reduction(5), "global");
  io::remove_tree(dir_.file("out"));
  train(2, "--devices 2");
  EXPECT_EQ(reduction(2), "per_replica");
}

TEST_F(BertRun, EvaluatesAnInitialCheckpointWithoutTraining) {
  make_init("none");
  const CommandOutput ran = run(out() + "--do_eval --max_eval_steps=40 --init_checkpoint=" +
                                dir_.file("bert/bert_model.ckpt"));
  ASSERT_EQ(ran.status, 0) << ran.text;
  EXPECT_THAT(ran.text, AllOf(HasSubstr("loaded      30"), HasSubstr("in 40 batches of 8")));
  EXPECT_THAT(io::read_file(dir_.file("out/eval_results.txt")), HasSubstr("global_step = 0\n"));
}

TEST_F(BertRun, ReplaysANonFiniteStep) {
  const std::string flags =
      out() + "--do_train --num_train_steps=9 --num_warmup_steps=0 --learning_rate=1e30 ";
  const CommandOutput ran = run(flags);
  EXPECT_EQ(ran.status, 1) << ran.text;
  std::string folder;
  for (const auto& entry : fs::directory_iterator(dir_.file("out")))
    if (entry.path().filename().string().starts_with("bad-batch-")) folder = entry.path();
  ASSERT_NE(folder, "") << ran.text;
  const CommandOutput again = run(str(flags, "--replay=", folder));
  EXPECT_EQ(again.status, 0) << again.text;
  EXPECT_THAT(again.text, AllOf(HasSubstr("norm of the gradient "),
                                HasSubstr("  bert/embeddings/word_embeddings\n"),
                                HasSubstr("the first non-finite tensor")));
  const CommandOutput both = run(str(flags, "--do_eval --replay=", folder));
  EXPECT_EQ(both.status, 0) << both.text;
  EXPECT_THAT(both.text,
              AllOf(HasSubstr("norm of the gradient "), Not(HasSubstr("Running evaluation"))));
  EXPECT_THAT(run(str(out(), "--do_eval --replay=", folder)).text,
              HasSubstr("only valid for training, and this command does not train\n"
                        "  hint: add --do_train"));
  EXPECT_THAT(run(str(flags, "--replay=", dir_.file("bert"))).text,
              HasSubstr("replay: no checkpoint in"));
  EXPECT_THAT(run(flags + "--hang-minutes=-1").text, HasSubstr("--hang-minutes"));
}

TEST_F(BertRun, ReportsInvalidFlagsByName) {
  const auto refused = [&](const std::string& flags) {
    const CommandOutput ran = run(out() + flags);
    EXPECT_EQ(ran.status, 2) << ran.text;
    return ran.text;
  };
  EXPECT_THAT(refused(""), HasSubstr("at least one of --do_train and --do_eval must be true"));
  EXPECT_THAT(refused("--do_train --max_seq_length=64"),
              HasSubstr("--max_seq_length 64 is longer than the 32 max_position_embeddings of"));
  EXPECT_THAT(refused("--do_train --init_checkpoint=" + dir_.file("bert/none.ckpt")),
              AllOf(HasSubstr("init: there is no "), HasSubstr("none.ckpt\n"),
                    HasSubstr("a TensorFlow checkpoint (…/bert_model.ckpt)")));
  EXPECT_THAT(refused("--do_train --devices=3"),
              HasSubstr("--train_batch_size 4 does not divide over 3 devices\n"
                        "  hint: choose a multiple of 3"));
  EXPECT_THAT(refused("--do_train --use_tpu --micro-batches=2"),
              HasSubstr("--train_batch_size 4 does not divide over 8 devices in 2 micro-batches"));
  EXPECT_THAT(refused("--do_eval --devices=2 --eval_batch_size=3"),
              HasSubstr("--eval_batch_size 3 does not divide over 2 devices"));
  EXPECT_THAT(refused("--do_train --input_file=" + dir_.file("none*")), HasSubstr("--input_file"));
  EXPECT_THAT(refused("--do_eval"),
              HasSubstr(str("--output_dir ", dir_.file("out"),
                            " holds no checkpoint to evaluate\n"
                            "  hint: add --do_train, or give weights with --init_checkpoint")));
  // Like absl: a text flag may have an empty value, a number must not.
  EXPECT_THAT(refused("--tpu_name= --master= --init_checkpoint= --vocab_file= --do_eval"),
              HasSubstr("holds no checkpoint to evaluate"));
  make_init("none");
  const std::string weights = dir_.file("bert/bert_model.ckpt");
  const CommandOutput beside = run("--do_train --output_dir=" + dir_.file("bert"));
  EXPECT_EQ(beside.status, 2);
  EXPECT_THAT(beside.text, HasSubstr(weights +
                                     " has weights without step and optimizer slots: a run cannot "
                                     "resume from it\n  hint: use --init_checkpoint " +
                                     weights));
  EXPECT_THAT(refused("--num_train_steps= --do_train"), HasSubstr("--num_train_steps= has no val"));
  EXPECT_THAT(refused("--do_train= --do_eval"), HasSubstr("--do_train= has no value"));
  EXPECT_THAT(refused("--do_train --input_file="), HasSubstr("--input_file: is empty"));
}

// Checks the error message for each fault of the files.
TEST_F(BertRun, RejectsDamagedCheckpointsAndUnsuitableData) {
  make_init("none");
  const std::string train = " --do_train --num_train_steps=2 --num_warmup_steps=0 ";
  const std::string init = "--init_checkpoint=" + dir_.file("bert/bert_model.ckpt ");
  const std::string data = dir_.file("bert/bert_model.ckpt.data-00000-of-00001");
  const std::string good = io::read_file(data);
  std::string bad = good;
  bad[100] ^= 1;
  io::write_file(data, bad);
  EXPECT_THAT(run(out() + train + init).text,
              AllOf(HasSubstr("bert_model.ckpt.data-00000-of-00001: '"),
                    HasSubstr("is damaged: its crc32c is")));
  fs::remove(data);
  EXPECT_THAT(run(out() + train + init).text,
              HasSubstr("bert_model.ckpt.data-00000-of-00001: missing file 1 of 1"));
  io::write_file(data, good);
  // Another architecture.
  Json other = config();
  other["intermediate_size"] = 64;
  io::write_file(dir_.file("bert/bert_config.json"), other.dump());
  EXPECT_THAT(run(out() + train + init).text,
              AllOf(HasSubstr("intermediate/dense/"), HasSubstr("has shape f32["),
                    HasSubstr("this run expects f32[")));
  // A smaller vocabulary: the data have ids that the model does not have.
  other = config();
  other["vocab_size"] = 50;
  io::write_file(dir_.file("bert/bert_config.json"), other.dump());
  EXPECT_THAT(run(out() + train).text, HasSubstr("vocab_size 50"));
  // Another kind of model.
  io::write_file(dir_.file("bert/bert_config.json"), config().dump());
  checkpoint::save_checkpoint(dir_.file("electra"), 1, {}, {{"task", "electra"}});
  EXPECT_THAT(run("--output_dir=" + dir_.file("electra") + train).text,
              HasSubstr("was made with the model type \"electra\", this run has \"bert\""));
  // Another number of predictions.
  EXPECT_THAT(run(out() + train + "--max_predictions_per_seq=7").text, HasSubstr("masked_lm_"));
  EXPECT_FALSE(fs::exists(dir_.file("out/eval_results.txt")));
}

// A mistake of the tutorial in docs/tutorials/bert-continued.md: it lower-cases the data of a cased
// model.
TEST_F(BertRun, WarnsAboutLowerCasingWithACasedVocabulary) {
  const std::string golden = source_path("tests/golden/pretraining/");
  const auto make = [&](const std::string& flags) {
    return run_smelt(str("create_pretraining_data --input_file=", golden,
                         "english.txt --output_file=", dir_.file("cased.tfrecord"),
                         " --vocab_file=", golden, "vocab_cased.txt --max_seq_length=32 ", flags))
        .text;
  };
  EXPECT_THAT(make("--do_lower_case=True"),
              HasSubstr("pieces have capital letters or accents, but --do_lower_case lower-cases "
                        "the text"));
  EXPECT_THAT(make("--do_lower_case=False"), Not(HasSubstr("capital letters")));
}

}  // namespace
}  // namespace smelt::cli
