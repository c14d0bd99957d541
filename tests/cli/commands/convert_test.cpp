// smelt convert and smelt inspect, as a user types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/json.h"
#include "base/str.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/formats/tfrecord.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

CommandOutput smelt_says(const std::string& arguments) { return run_smelt(arguments); }

class ConvertCommand : public testing::Test {
 protected:
  ConvertCommand() { fs::copy(source_path("tests/golden/tensor_bundle"), dir_.file("tf")); }
  std::string at(const std::string& name) const { return dir_.file(name); }
  TempDir dir_;
};

TEST_F(ConvertCommand, InspectPrintsTheContentOfACheckpoint) {
  const CommandOutput text = smelt_says("inspect " + at("tf"));
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(
      text.text,
      AllOf(HasSubstr("types.ckpt (TensorFlow), step 1099511627776\n"),
            HasSubstr("model:       bert, 14 parameters\n"),
            HasSubstr("slots:       adam_m, 6 numbers\n"), HasSubstr("checksums:   hold\n"),
            HasSubstr("skipped:     words (string)\n"), HasSubstr("skipped:     int32 (i32[1])\n"),
            HasSubstr("  bert/embeddings/word_embeddings f32[3,2] 3.89444\n")));
  const Json all = Json::parse(smelt_says("inspect --json " + at("tf/parts.ckpt")).text);
  EXPECT_EQ(all["parameters"], 1204);
  EXPECT_EQ(all["checksums"], "hold");
  EXPECT_EQ(all["tensors"][2]["name"], "table");
  EXPECT_EQ(all["tensors"][2]["shape"], Json::array({4, 300}));
}

TEST_F(ConvertCommand, InspectPrintsSlices) {
  const std::vector<float> twos(4, 2), threes(4, 3);
  const compiler::Shape half{compiler::DType::f32, {2, 2}};
  checkpoint::save_sliced_checkpoint(
      at("model"), 7,
      {{"bert/w",
        {{compiler::DType::f32, {2, 4}},
         {{{0, 0}, {half, std::as_bytes(std::span(twos))}},
          {{0, 2}, {half, std::as_bytes(std::span(twos))}}}}},
       {"bert/z", {half, {{{0, 0}, {half, std::as_bytes(std::span(threes))}}}}}},
      Json::object());
  EXPECT_THAT(smelt_says("inspect " + at("model")).text,
              AllOf(HasSubstr("  bert/w f32[2,4] in 2 slices [0:2,0:2] … 2\n"),
                    HasSubstr("  bert/z f32[2,2] 3\n")));
  const Json all = Json::parse(smelt_says("inspect --json " + at("model")).text);
  EXPECT_EQ(all["tensors"][0]["shape"], Json::array({2, 4}));
  EXPECT_EQ(all["tensors"][0]["slices"], Json::array({"[0:2,0:2]", "[0:2,2:4]"}));
  EXPECT_FALSE(all["tensors"][1].contains("slices"));
}

TEST_F(ConvertCommand, InspectReportsEveryDamagedTensor) {
  const std::string data = at("tf/parts.ckpt.data-00001-of-00002");
  std::string bytes = io::read_file(data);
  for (char& byte : bytes) byte ^= 1;
  io::write_file(data, bytes);
  const CommandOutput out = smelt_says("inspect " + at("tf/parts.ckpt"));
  EXPECT_EQ(out.status, 2);
  EXPECT_THAT(
      out.text,
      AllOf(HasSubstr("checksums:   2 tensors are damaged"), HasSubstr("'second/bias' is damaged"),
            HasSubstr("'table' is damaged"), HasSubstr("  first/bias f32[2] 1.58114"),
            HasSubstr("error: inspect: 2 tensors of ")));
}

TEST_F(ConvertCommand, ResolvesNamesInTheCurrentFolder) {
  for (const char* names : {"tf/types.ckpt checkpoint-7", "checkpoint-7 again.ckpt"}) {
    const CommandOutput out =
        run_command(str("cd ", dir_.path(), " && ", smelt_program(), " convert ", names));
    EXPECT_EQ(out.status, 0) << out.text;
  }
  EXPECT_TRUE(fs::exists(at("checkpoint-7/COMMIT")));
  EXPECT_TRUE(fs::exists(at("again.ckpt.index")));
}

// x.tfrecord.index is the index of a record file, not of a TensorFlow checkpoint.
TEST_F(ConvertCommand, RejectsRecordsAndTokens) {
  std::string records;
  io::append_record(records, "example");
  io::write_file(at("x.tfrecord"), records);
  io::write_file(at("x.tfrecord.index"), "SMELTIDX");
  io::write_file(at("x.tokens"), "SMELTTOK and more");
  EXPECT_THAT(smelt_says("inspect " + at("x.tfrecord")).text,
              HasSubstr(at("x.tfrecord") +
                        " has records (TFRecord), expected a checkpoint\n  hint: show its content: "
                        "smelt data inspect " +
                        at("x.tfrecord")));
  EXPECT_THAT(smelt_says("convert " + at("x.tokens") + " " + at("m.ckpt")).text,
              HasSubstr("convert: " + at("x.tokens") + " has tokens, expected a checkpoint"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);  // a pipe without a writer
  EXPECT_THAT(smelt_says("inspect " + at("pipe")).text, HasSubstr("has no smelt checkpoint"));
}

TEST_F(ConvertCommand, ReportsSkippedTensors) {
  const CommandOutput out =
      smelt_says("convert " + at("tf/types.ckpt") + " " + at("model/checkpoint-7"));
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_THAT(out.text, AllOf(HasSubstr("skipped: words (string)"),
                              HasSubstr("(smelt): 6 parameters, 1 slots")));
  EXPECT_THAT(smelt_says("inspect " + at("model")).text,
              AllOf(HasSubstr("checkpoint-7 (smelt), step 7"), HasSubstr("converted_from")));
  EXPECT_EQ(smelt_says("convert " + at("model") + " " + at("m.ckpt") + " --dtype f8").status, 2);
}

}  // namespace
}  // namespace smelt::cli
