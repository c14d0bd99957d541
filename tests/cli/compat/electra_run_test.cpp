// smelt electra run_pretraining with the original's files and messages, and inference with its
// models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "checkpoint/interop/hugging_face_electra.h"
#include "checkpoint/interop/tensorflow.h"
#include "cli/compat/electra_log.h"
#include "cli/compat/electra_run_fixture.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// The expected lines are those of the original's logging hook for the same numbers.
TEST(ElectraLog, MatchesTheOriginalsLines) {
  EXPECT_EQ(electra_log_line(
                {.step = 300, .total = 1000, .first_step = 100, .seconds = 64.5, .loss = 41.25127}),
            "300/1000 = 30.0%, SPS: 3.1, ELAP: 1:04, ETA: 3:46 - loss: 41.2513");
  const auto elapsed = [](double seconds) {
    const std::string line = electra_log_line({.step = 1, .total = 1, .seconds = seconds});
    return line.substr(line.find("ELAP: "), line.find(", ETA") - line.find("ELAP: "));
  };
  for (const auto& [seconds, text] : {std::pair{0.5, "0"},
                                      {5., "5"},
                                      {59.6, "1:00"},
                                      {65., "1:05"},
                                      {600., "10:00"},
                                      {3600., "1:00:00"},
                                      {3725., "1:02:05"},
                                      {36000., "10:00:00"},
                                      {90065., "1 day, 1:01:05"},
                                      {172800., "2 days, 0:00:00"}})
    EXPECT_EQ(elapsed(seconds), str("ELAP: ", text));
}

constexpr const char* kResults[] = {"disc_accuracy",  "disc_auc",
                                    "disc_loss",      "disc_precision",
                                    "disc_recall",    "global_step",
                                    "loss",           "masked_lm_accuracy",
                                    "masked_lm_loss", "sampled_masked_lm_accuracy"};

TEST_F(ElectraRun, TrainsEvaluatesAndResumes) {
  make_data();
  const CommandOutput trained = pretrain();
  ASSERT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(trained.text, AllOf(HasSubstr("2/6 = 33.3%, SPS: "), HasSubstr("6/6 = 100.0%, "),
                                  HasSubstr(", ELAP: 0"), HasSubstr(" - loss: "),
                                  HasSubstr(" examples, a model (electra) of "),
                                  HasSubstr("the model is in " + data("models/m\n"))));
  for (const int step : {3, 6})
    EXPECT_TRUE(io::exists(data(str("models/m/checkpoint-", step, "/COMMIT"))));

  const CommandOutput evaluated =
      pretrain({{"do_train", false}, {"do_eval", true}, {"num_eval_steps", 2}});
  ASSERT_EQ(evaluated.status, 0) << evaluated.text;
  const std::string text = io::read_file(data("models/m/results/unsup_results.txt"));
  EXPECT_THAT(evaluated.text, HasSubstr(text));
  const Json figures = Json::parse(io::read_file(data("models/m/results/unsup_results.json")));
  std::string pattern;
  for (const char* name : kResults) {
    EXPECT_TRUE(figures.contains(name)) << name;
    pattern += str(name, " = [0-9.e-]+\n");
  }
  EXPECT_THAT(text, MatchesRegex(pattern));
  EXPECT_EQ(figures["global_step"], 6);
  EXPECT_EQ(figures["examples"], 8);
  EXPECT_THAT(evaluated.text,
              AllOf(HasSubstr("eval: 8 of the "), HasSubstr(" examples, in 2 batches of 4\n")));

  // Like in the original, the examples are repeated if there are too few.
  EXPECT_THAT(
      pretrain({{"do_train", false}, {"do_eval", true}, {"num_eval_steps", 30}}).text,
      ContainsRegex("eval: 120 drawn repeatedly from the [0-9]+ examples, in 30 batches of 4\n"));
  EXPECT_EQ(Json::parse(io::read_file(data("models/m/results/unsup_results.json")))["examples"],
            120);

  const std::string hparams = io::read_file(data("models/m/hparams.json"));
  EXPECT_THAT(pretrain({{"num_train_steps", 2}}).text,
              HasSubstr("checkpoint-6 is at step 6, beyond num_train_steps 2: no steps are left"));
  EXPECT_THAT(
      pretrain({{"learning_rate", 1}}).text,
      HasSubstr("is the last checkpoint of this run, num_train_steps 6, and was trained with other "
                "settings: learning_rate was 0.0005, is 1.0\n"));
  EXPECT_EQ(io::read_file(data("models/m/hparams.json")), hparams);

  const CommandOutput further =
      pretrain({{"num_train_steps", 9}, {"keep_checkpoint_max", 1}, {"num_warmup_steps", 1}});
  ASSERT_EQ(further.status, 0) << further.text;
  EXPECT_THAT(
      further.text,
      AllOf(HasSubstr("num_train_steps is raised from 6 to 9"),
            HasSubstr("resumes at 0.000167, not 0.0005; --rescale-learning-rate makes it"),
            HasSubstr("(learning_rate 0.0015)"), HasSubstr("resuming from "),
            HasSubstr("checkpoint-6: num_warmup_steps was 2, is 1\n"), HasSubstr("9/9 = 100.0%")));
  EXPECT_FALSE(io::exists(data("models/m/checkpoint-6")));
  const CommandOutput rescaled = pretrain({{"num_train_steps", 12}}, "--rescale-learning-rate");
  EXPECT_THAT(
      rescaled.text,
      AllOf(HasSubstr("learning_rate 0.002 instead of 0.0005: the 3 steps after step 9 begin "),
            HasSubstr("12/12 = 100.0%"), Not(HasSubstr("is raised from"))));
  // As if the run was killed before it saved the last checkpoint.
  io::remove_tree(data("models/m/checkpoint-12"));
  const CommandOutput again = pretrain({{"num_train_steps", 12}}, "--rescale-learning-rate");
  EXPECT_THAT(again.text, AllOf(HasSubstr("learning_rate 0.002 instead of 0.0005"),
                                HasSubstr("12/12 = 100.0%")));
  const CommandOutput squared =
      pretrain({{"num_train_steps", 15}, {"lr_decay_power", 2}}, "--rescale-learning-rate");
  EXPECT_THAT(squared.text, HasSubstr("learning_rate 0.0125 instead of 0.0005: the 3 steps after"));
  for (const int step : {12, 15}) io::remove_tree(data(str("models/m/checkpoint-", step)));
  for (const int step : {3, 6, 9}) io::remove_tree(data(str("models/m/checkpoint-", step)));
  EXPECT_THAT(pretrain({{"num_train_steps", 15}}, "--rescale-learning-rate").text,
              HasSubstr("has no finished run of fewer steps than 15"));
}

// Layers in a loop are the default on a TPU or GPU. The model is split over a mesh, and its
// embedding has more rows than the vocabulary has lines.
TEST_F(ElectraRun, RunsWithLayersInALoopOverSeveralDevices) {
  make_data();
  const std::string form = "--layers scan --devices 2 --mesh fsdp=2 --write-tf-checkpoint";
  for (const int steps : {3, 6}) {
    const CommandOutput ran = pretrain({{"num_train_steps", steps}, {"vocab_size", 350}}, form);
    ASSERT_EQ(ran.status, 0) << ran.text;
    EXPECT_THAT(ran.text, HasSubstr("vocab_size 350: the last 5 ids have no line in "));
    EXPECT_EQ(
        checkpoint::TensorflowCheckpoint(data(str("models/m/model.ckpt-", steps))).global_step(),
        steps);
  }
  const CommandOutput evaluated = pretrain(
      {{"do_train", false}, {"do_eval", true}, {"num_eval_steps", 1}, {"vocab_size", 350}}, form);
  ASSERT_EQ(evaluated.status, 0) << evaluated.text;
  EXPECT_THAT(evaluated.text, HasSubstr("global_step = 6\n"));
  EXPECT_EQ(ask("fill --text 'the [MASK]'").status, 0);
}

TEST_F(ElectraRun, TrainedModelCanDetectFillExportAndInitialize) {
  make_data();
  EXPECT_THAT(ask("detect --text a").text,
              AllOf(HasSubstr("detect: "),
                    HasSubstr("models/m/hparams.json does not exist: the folder has no run"),
                    HasSubstr("hint: correct --data-dir and --model-name, or pass")));
  ASSERT_EQ(pretrain({{"num_train_steps", 2}}).status, 0);

  const CommandOutput found = ask("detect --text 'The river' --threshold 0 --json 2>/dev/null");
  ASSERT_EQ(found.status, 0) << found.text;
  EXPECT_EQ(Json::parse(found.text)["tokens"].back()["offsets"][1], 9);
  const CommandOutput filled = ask("fill --text 'the [MASK]' --top 2");
  EXPECT_EQ(filled.status, 0) << filled.text;
  EXPECT_THAT(filled.text, HasSubstr("the [MASK]\n    "));
  EXPECT_THAT(ask(R"(detect --text a --hparams '{"vocab_size": 344}')").text,
              HasSubstr("vocab_size is 344, but "));
  const std::string hparams = data("models/m/hparams.json"), kept = io::read_file(hparams);
  EXPECT_EQ(ask("detect --text a --hparams " + hparams).status, 0);
  for (const char* name : {"vocab_file", "num_train_steps"}) {
    Json foreign = Json::parse(kept);
    foreign[name] = Json::array();
    io::write_file(hparams, foreign.dump());
    const CommandOutput refused = ask("detect --text a");
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.text, HasSubstr(str("--hparams: ", name, " is [], not a ")));
  }
  EXPECT_THAT(pretrain({{"num_train_steps", 3}}).text,
              HasSubstr("hparams.json: num_train_steps is [], not an integer\n  hint: corr"));
  io::write_file(hparams, kept);

  const std::string to = "export --out " + dir_.file("hf");
  const CommandOutput exported = ask(to);
  EXPECT_EQ(exported.status, 0) << exported.text;
  const checkpoint::HuggingFaceElectra part =
      checkpoint::import_hugging_face_electra(dir_.file("hf/discriminator"));
  EXPECT_EQ(part.part.encoder.hidden_size, 32);
  EXPECT_EQ(part.model.vocab_txt, io::read_file(data("vocab.txt")));
  EXPECT_EQ(part.model.tokenizer.control, text::ControlCharacters::electra);
  EXPECT_TRUE(io::exists(dir_.file("hf/generator/model.safetensors")));
  EXPECT_THAT(ask(to).text, HasSubstr("hf/discriminator"));

  const std::string init = "--init " + data("models/m");
  const CommandOutput begun = pretrain({{"num_train_steps", 1}}, init, "n");
  EXPECT_EQ(begun.status, 0) << begun.text;
  EXPECT_THAT(begun.text, AllOf(HasSubstr("weights of " + data("models/m/checkpoint-2:\n")),
                                HasSubstr("  loaded "), Not(HasSubstr("\n  random"))));
  EXPECT_THAT(pretrain({{"do_train", false}, {"do_eval", true}}, init).text,
              HasSubstr("--init: do_eval evaluates the model's own checkpoint\n  hint: remove"));
}

TEST_F(ElectraRun, RejectsRecordsOfAnotherVocabularyOrModelType) {
  make_data();
  const std::string vocab = io::read_file(data("vocab.txt"));
  exchange_last_words();  // another vocabulary of the same size
  const CommandOutput other = pretrain();
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.text,
              AllOf(HasSubstr("pretrain_tfrecords/smelt-data.json: the vocabulary's CRC-32C (" +
                              data("vocab.txt") + ") is "),
                    HasSubstr("hint: make the data again with " + data("vocab.txt"))));
  io::write_file(data("vocab.txt"), vocab);
  io::remove_tree(data("pretrain_tfrecords"));
  const CommandOutput made = run_smelt(
      str("create_pretraining_data --max_seq_length=16 --dupe_factor=1",
          " --input_file=", dir_.file("corpus/english.txt"), " --vocab_file=", data("vocab.txt"),
          " --output_file=", data("pretrain_tfrecords/pretrain_data.tfrecord")));
  ASSERT_EQ(made.status, 0) << made.text;
  const CommandOutput masked = pretrain();
  EXPECT_EQ(masked.status, 2);
  EXPECT_THAT(masked.text,
              HasSubstr("masked_lm_positions is a feature of examples for bert, not electra\n"));
  EXPECT_FALSE(io::exists(data("models/m/checkpoint-6")));
}

TEST_F(ElectraRun, RejectsAnotherVocabularyAndASecondProcess) {
  make_data();
  ASSERT_EQ(pretrain({{"num_train_steps", 1}}).status, 0);
  {
    const io::FolderLock other(data("models/m"), "train");
    const CommandOutput second = pretrain({{"num_train_steps", 2}});
    EXPECT_EQ(second.status, 2);
    EXPECT_THAT(second.text, HasSubstr("train: " + data("models/m") + " is in use by process "));
    EXPECT_THAT(pretrain({{"debug", true}}, "--overwrite").text, HasSubstr(" is in use by "));
    EXPECT_EQ(ask("fill --text 'the [MASK]'").status, 0);
  }
  exchange_last_words();
  EXPECT_THAT(pretrain({{"num_train_steps", 2}}).text,
              HasSubstr("pretrain_tfrecords/smelt-data.json: the vocabulary's CRC-32C"));
  io::remove_file(data("pretrain_tfrecords/smelt-data.json"));  // the original writes none
  const auto other = HasSubstr("checkpoint-1: " + data("vocab.txt") +
                               " is not the vocabulary that the model was made with: its crc32c ");
  EXPECT_THAT(pretrain({{"num_train_steps", 2}}).text, other);
  EXPECT_THAT(pretrain({{"do_train", false}, {"do_eval", true}}).text, other);
  EXPECT_THAT(ask("detect --text a").text, other);
  EXPECT_THAT(ask("fill --text '[MASK] a'").text, other);
  EXPECT_THAT(ask("export --out " + dir_.file("hf")).text, other);
}

TEST_F(ElectraRun, HintsUseTheNamesOfElectrasHparams) {
  make_data();
  const CommandOutput diverged = pretrain({{"learning_rate", 1e38}, {"num_warmup_steps", 0}});
  EXPECT_EQ(diverged.status, 1);
  EXPECT_THAT(diverged.text, HasSubstr("hint: lower learning_rate or raise num_warmup_steps; "));
  EXPECT_THAT(pretrain(Json::object(), "--devices 2 --mesh data=3").text,
              HasSubstr("--mesh 'data=3' has 3 devices, but --devices is 2"));
  EXPECT_THAT(pretrain(Json::object(), "--save layers").text, HasSubstr("--save 'layers'"));
  EXPECT_THAT(
      pretrain({{"model_hparam_overrides", {{"hidden_size", 1 << 20}, {"num_hidden_layers", 1}}}})
          .text,
      ContainsRegex(
          "train: the weights and optimizer slots of the model take [0-9.]+ TB, more than this "
          "machine's memory of [0-9.]+ .B\n  hint: choose a smaller model"));
}

TEST_F(ElectraRun, ReadsFilesOfTheOriginal) {
  take_the_originals_data();
  const std::string vocab = io::read_file(golden("vocab_cased.txt"));
  io::write_file(data("vocab.txt"), vocab);
  const auto lines = std::ranges::count(vocab, '\n');
  const Json debug = {{"vocab_size", lines},
                      {"max_seq_length", 128},
                      {"debug", true},
                      {"num_train_steps", 2},
                      {"train_batch_size", 2}};
  const CommandOutput trained = pretrain(debug);
  ASSERT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(trained.text, HasSubstr("2/2 = 100.0%"));
  const CommandOutput again = pretrain(debug);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.text, AllOf(HasSubstr("debug: "), HasSubstr("models/m is not empty"),
                                HasSubstr("hint: add --overwrite")));
  // A rejected command deletes nothing.
  Json wrong = debug;
  wrong["vocab_size"] = 7;
  EXPECT_THAT(pretrain(wrong, "--overwrite").text, HasSubstr("vocab_size is 7, but "));
  for (const char* init : {"models/m", "models/../models/m/", "models/m/checkpoint-2"})
    EXPECT_THAT(pretrain(debug, "--overwrite --init " + data(init)).text,
                AllOf(HasSubstr(str("--init: ", data(init), " is inside ")),
                      HasSubstr(", which --overwrite deletes\n  hint: copy the weights to")));
  EXPECT_TRUE(io::exists(data("models/m/checkpoint-2/COMMIT")));
  io::write_file(data("models/m/old"), "");
  const CommandOutput anew = pretrain(debug, "--overwrite");
  ASSERT_EQ(anew.status, 0) << anew.text;
  EXPECT_THAT(anew.text, AllOf(HasSubstr("2/2 = 100.0%"), Not(HasSubstr("resuming"))));
  EXPECT_FALSE(io::exists(data("models/m/old")));
}

TEST_F(ElectraRun, RejectsUnsuitableDataAndFlags) {
  const auto refused = [&](const Json& more, const std::string& flags = "") {
    const CommandOutput output = pretrain(more, flags);
    EXPECT_EQ(output.status, 2) << output.text;
    return output.text;
  };
  EXPECT_THAT(refused(Json::object()),
              AllOf(HasSubstr("pretrain_tfrecords: no file matches '"),
                    HasSubstr("pretrain_data.tfrecord*'"), HasSubstr("hint: ")));
  take_the_originals_data();
  EXPECT_THAT(refused(Json::object()), HasSubstr("record 0: input_ids has 128 values, not 16"));
  EXPECT_THAT(refused(Json::object(), "--overwrite"),
              HasSubstr("--overwrite: only valid with debug\n  hint: remove the flag"));
  EXPECT_THAT(
      run_smelt(str("electra run_pretraining --model-name m --data-dir ", dir_.file("none"))).text,
      HasSubstr("--data-dir " + dir_.file("none") + " is not a folder"));
  EXPECT_THAT(refused({{"vocab_size", 344}}),
              AllOf(HasSubstr("--hparams: vocab_size is 344, but "),
                    HasSubstr("vocab.txt has 345 lines\n  hint: set \"vocab_size\": 345")));
  EXPECT_THAT(refused({{"generator_hidden_size", 2}}),
              AllOf(HasSubstr("the generator's hidden size 64 is larger than the discriminator's "
                              "32, whose embeddings it shares"),
                    HasSubstr("untied_generator_embeddings")));
  EXPECT_THAT(refused({{"do_train", false}, {"do_eval", true}}),
              AllOf(HasSubstr("eval: no checkpoint in "), HasSubstr("hint: train a model first")));
  EXPECT_THAT(refused(Json::object(), "--rescale-learning-rate"),
              AllOf(HasSubstr("--rescale-learning-rate: "),
                    HasSubstr("has no finished run of fewer steps than 6")));
  EXPECT_THAT(refused({{"vocab_file", data("none.txt")}}), HasSubstr("none.txt"));
  EXPECT_THAT(run_smelt(str("electra run_pretraining --model-name m --data-dir ", dir_.file("data"),
                            " --hparams ", data("vocab.txt")))
                  .text,
              HasSubstr("vocab.txt is not JSON, and a file name must end in .json\n  hint: rena"));
  const std::string cased = io::read_file(golden("vocab_cased.txt"));
  io::write_file(data("vocab.txt"), cased);
  EXPECT_THAT(refused({{"train_batch_size", 5},
                       {"max_seq_length", 128},
                       {"vocab_size", std::ranges::count(cased, '\n')}},
                      "--devices 2"),
              HasSubstr("a batch of 5 examples does not divide over 2 devices"));
}

}  // namespace
}  // namespace smelt::cli
