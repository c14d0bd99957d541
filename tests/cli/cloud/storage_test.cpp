// Commands whose paths are on an object store write the same bytes as on a local disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;

class StorageTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    emulator_ = std::make_unique<GcsEmulator>();
  }
  // Runs smelt with the emulator's address in its environment.
  CommandOutput smelt(const std::string& arguments) const {
    return run_command(str("CLOUD_STORAGE_EMULATOR_ENDPOINT=http://", emulator_->endpoint(), " ",
                           smelt_program(), " ", arguments));
  }
  // Copies a local file into the bucket.
  void upload(const std::string& local, const std::string& key) const {
    io::write_file(emulator_->path(key), io::read_file(local));
  }

  const TempDir dir_;
  std::unique_ptr<GcsEmulator> emulator_;
};

TEST_F(StorageTest, CreatePretrainingDataReadsPatternsAndWritesToABucket) {
  for (const char* name : {"english.txt", "vocab_uncased.txt"})
    upload(source_path(str("tests/golden/pretraining/", name)), str("in/", name));
  const std::string flags = " --max_seq_length=64 --max_predictions_per_seq=10 --dupe_factor=3";
  const CommandOutput there =
      smelt(str("create_pretraining_data --input_file='gs://bucket/in/eng*.txt' "
                "--output_file=gs://bucket/out/x.tfrecord",
                " --vocab_file=gs://bucket/in/vocab_uncased.txt", flags));
  ASSERT_EQ(there.status, 0) << there.text;
  const std::string golden = source_path("tests/golden/pretraining/");
  const CommandOutput here = smelt(str("create_pretraining_data --input_file=", golden,
                                       "english.txt --output_file=", dir_.file("x.tfrecord"),
                                       " --vocab_file=", golden, "vocab_uncased.txt", flags));
  ASSERT_EQ(here.status, 0) << here.text;
  EXPECT_TRUE(io::read_file(emulator_->path("out/x.tfrecord")) ==
              io::read_file(dir_.file("x.tfrecord")));
  const CommandOutput missing = smelt(
      "create_pretraining_data --input_file=gs://bucket/none "
      "--output_file=gs://bucket/y --vocab_file=gs://bucket/in/vocab_uncased.txt");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.text, HasSubstr("gs://bucket/none: bucket 'bucket' has no object 'none'"));
  EXPECT_FALSE(io::exists(emulator_->path("y")));
}

TEST_F(StorageTest, ParallelUploadsHaveTheSameBytesAsLocalShards) {
  const std::string golden = source_path("tests/golden/pretraining/");
  for (const std::string& out : {std::string("gs://bucket/x.tfrecord"), dir_.file("x.tfrecord")}) {
    const CommandOutput made =
        smelt(str("data bert --input ", golden, "english.txt --vocab ", golden,
                  "vocab_uncased.txt --seq-length 64 --shards 11 --out ", out));
    ASSERT_EQ(made.status, 0) << made.text;
  }
  for (const char* suffix : {"", ".index"})
    for (int i = 0; i < 11; ++i) {
      const std::string name = str("x-", i < 10 ? "0000" : "000", i, "-of-00011.tfrecord", suffix);
      EXPECT_TRUE(io::read_file(emulator_->path(name)) == io::read_file(dir_.file(name))) << name;
    }
}

TEST_F(StorageTest, WritesAThousandShardsToABucket) {
  const std::string golden = source_path("tests/golden/pretraining/");
  upload(golden + "english.txt", "text/english.txt");
  for (const std::string& folder : {std::string("gs://bucket/electra"), dir_.file("electra")}) {
    const CommandOutput made =
        smelt(str("electra build_pretraining_dataset --corpus-dir gs://bucket/text --vocab-file ",
                  golden, "vocab_uncased.txt --max-seq-length 16 --output-dir ", folder));
    ASSERT_EQ(made.status, 0) << made.text;
  }
  EXPECT_EQ(io::list_folder(emulator_->path("electra")).size(), 1001u);  // and smelt-data.json
  for (const int i : {0, 1, 7, 20, 999}) {
    const std::string name = str("electra/pretrain_data.tfrecord-", i, "-of-1000");
    EXPECT_TRUE(io::read_file(emulator_->path(name)) == io::read_file(dir_.file(name))) << name;
  }
  const CommandOutput again =
      smelt(str("electra build_pretraining_dataset --corpus-dir gs://bucket/text --vocab-file ",
                golden, "vocab_uncased.txt --output-dir gs://bucket/electra"));
  EXPECT_THAT(again.text, HasSubstr("output folder gs://bucket/electra is not empty"));
}

TEST_F(StorageTest, ElectraTrainsInABucket) {
  REQUIRE_PLUGIN("cpu");
  for (const int i : {0, 1, 2}) {
    const std::string name = str("pretrain_data.tfrecord-", i, "-of-1000");
    upload(source_path("tests/golden/electra/" + name), "electra/pretrain_tfrecords/" + name);
  }
  upload(source_path("tests/golden/pretraining/vocab_cased.txt"), "electra/vocab.txt");
  const std::string vocab = io::read_file(emulator_->path("electra/vocab.txt"));
  const std::string model = str(
      R"({"model_hparam_overrides": {"hidden_size": 16, "num_hidden_layers": 1}, "vocab_size": )",
      std::ranges::count(vocab, '\n'), R"(, "embedding_size": 8, "train_batch_size": 2, )",
      R"("eval_batch_size": 2, "num_train_steps": 2, "num_eval_steps": 1)");
  io::write_file(emulator_->path("train.json"), model + "}");
  io::write_file(emulator_->path("eval.json"), model + R"(, "do_train": false, "do_eval": true})");
  const std::string command =
      "electra run_pretraining --data-dir gs://bucket/electra --model-name m --hparams ";
  const CommandOutput trained = smelt(command + "gs://bucket/train.json");
  EXPECT_EQ(trained.status, 0) << trained.text;
  EXPECT_TRUE(io::exists(emulator_->path("electra/models/m/checkpoint-2/COMMIT")));
  const CommandOutput evaluated = smelt(command + "gs://bucket/eval.json");
  EXPECT_EQ(evaluated.status, 0) << evaluated.text;
  EXPECT_THAT(io::read_file(emulator_->path("electra/models/m/results/unsup_results.txt")),
              HasSubstr("global_step = 2\n"));
}

TEST_F(StorageTest, ReportsAMissingBucketBeforeStarting) {
  const std::string golden = source_path("tests/golden/pretraining/");
  for (const char* order : {"shuffled", "original"}) {
    const CommandOutput made =
        smelt(str("data bert --input ", golden, "english.txt --vocab ", golden, "vocab_uncased.txt",
                  " --order ", order, " --out gs://no-bucket/x.tfrecord"));
    EXPECT_EQ(made.status, 2);
    EXPECT_THAT(made.text,
                HasSubstr("write: gs://no-bucket/x.tfrecord: no bucket 'no-bucket', accessed as"));
    EXPECT_THAT(made.text, testing::Not(HasSubstr("Writing to output files")));
  }
}

TEST_F(StorageTest, RecipeReadsAndWritesOnlyABucket) {
  REQUIRE_PLUGIN("cpu");
  upload(source_path("tests/golden/pretraining/english.txt"), "in/english.txt");
  upload(source_path("tests/golden/pretraining/english.txt"), "in/english2.txt");
  const std::string recipe =
      "text: {input: 'gs://bucket/in/*.txt', sentences: lines, heldout: 0.3, dedup: none}\n"
      "vocab: {size: 300}\ndata: {seq_length: 32, max_predictions: 5, dupe_factor: 2}\n"
      "model: {hidden_size: 32, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: "
      "64,\n"
      "  max_position_embeddings: 32, type_vocab_size: 2}\n"
      "train: {batch_size: 4, steps: 12, checkpoint.save_interval_steps: 5, "
      "checkpoint.max_to_keep: 2}\neval: {batch_size: 2, steps: "
      "1}\n";
  io::write_file(emulator_->path("r.yaml"), recipe);
  for (const std::string& out : {std::string("gs://bucket/m"), dir_.file("m")}) {
    const CommandOutput run = smelt(str("run gs://bucket/r.yaml --set out=", out));
    ASSERT_EQ(run.status, 0) << run.text;
    const CommandOutput again = smelt(str("run gs://bucket/r.yaml --set out=", out));
    EXPECT_THAT(again.text, HasSubstr("train: up to date")) << again.text;
  }
  EXPECT_EQ(io::list_folder(emulator_->path("m/model")), io::list_folder(dir_.file("m/model")));
  for (const char* name :
       {"vocab.txt", "data/train.tfrecord", "model/checkpoint-12/COMMIT", "model/eval_results.txt",
        "model/checkpoint-12/tensors-00000-of-00001.safetensors", "huggingface/model.safetensors"})
    EXPECT_TRUE(io::read_file(emulator_->path(str("m/", name))) ==
                io::read_file(io::join_path(dir_.file("m"), name)))
        << name;
}

}  // namespace
}  // namespace smelt::cli
