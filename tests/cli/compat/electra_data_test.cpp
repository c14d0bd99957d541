// The command lines of the original ELECTRA data programs, and `smelt data electra`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/sha256.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ElectraData : public testing::Test {
 protected:
  ElectraData() {
    for (const char* name : {"english.txt", "languages.txt", "corners.txt"})
      io::write_file(dir_.file(str("corpus/", name)), io::read_file(golden(name)));
  }
  static std::string golden(const std::string& name) {
    return source_path("tests/golden/pretraining/" + name);
  }
  static std::string recorded_hash(const std::string& name) {
    const std::string file = source_path("tests/golden/electra/hashes.json");
    for (const auto& item : Json::parse(io::read_file(file)))
      if (item["name"] == name) return item["sha256"];
    return "no case " + name;
  }
  CommandOutput build(const std::string& flags) const {
    return run_smelt(
        str("electra build_pretraining_dataset --corpus-dir ", dir_.file("corpus"),
            flags.find("--output-dir") == flags.npos ? " --output-dir " + dir_.file("out") : "",
            " ", flags));
  }
  // Returns one hash of all output files, in the form of hashes.json, and deletes the files.
  // Returns the program's output if it failed.
  std::string hash_of(const CommandOutput& output, const std::string& folder = "out") {
    if (output.status != 0) return output.text;
    std::string lines;
    for (int i = 0; i < 1000; ++i)
      lines += str(
          i, " ",
          sha256(io::read_file(dir_.file(str(folder, "/pretrain_data.tfrecord-", i, "-of-1000")))),
          "\n");
    io::remove_tree(dir_.file(folder));
    return sha256(lines);
  }

  TempDir dir_;
  const std::string uncased_ = " --vocab-file=" + golden("vocab_uncased.txt");
  const std::string cased_ = " --vocab-file=" + golden("vocab_cased.txt");
};

TEST_F(ElectraData, MatchesTheOriginalForEachFlag) {
  const std::string short_ones = "--max-seq-length=16";
  EXPECT_EQ(hash_of(build(short_ones + uncased_)), recorded_hash("uncased_16_blanks_12345"));
  EXPECT_EQ(hash_of(build(short_ones + uncased_ +
                          " --blanks-separate-docs False --random-seed 7 --num-processes 4")),
            recorded_hash("uncased_16_joined_7"));
  EXPECT_EQ(hash_of(build(short_ones + uncased_ +
                          " --blanks-separate-docs=true "
                          "--do-lower-case --no-strip-accents")),
            recorded_hash("accents_16_blanks_12345"));
  EXPECT_EQ(hash_of(build("--no-lower-case --do-strip-accents" + cased_)),
            recorded_hash("cased_128_blanks_12345"));
}

TEST_F(ElectraData, DataElectraSupportsTheOriginalOrder) {
  const CommandOutput made =
      run_smelt(str("data electra --order original --random-seed 7 --seq-length 16 --input '",
                    dir_.file("corpus/*.txt"), "' --vocab ", golden("vocab_uncased.txt"), " --out ",
                    dir_.file("out/pretrain_data.tfrecord")));
  EXPECT_THAT(made.text, HasSubstr("pretrain_data.tfrecord, in 1000 files\n"));
  EXPECT_THAT(made.text, HasSubstr("padding\n"));
  EXPECT_EQ(hash_of(made), recorded_hash("uncased_16_blanks_7"));
}

// The name of the description must not match file patterns for the records.
TEST_F(ElectraData, WritesADescriptionBesideTheRecords) {
  ASSERT_EQ(build("--max-seq-length=16" + uncased_).status, 0);
  EXPECT_EQ(io::list_folder(dir_.file("out")).size(), 1001u);
  const auto said = Json::parse(io::read_file(dir_.file("out/smelt-data.json")));
  EXPECT_EQ(said["kind"], "electra");
  EXPECT_EQ(said["files"].size(), 1000u);
  EXPECT_EQ(said["seq_length"], 16);
  EXPECT_EQ(said["vocabulary"]["file"], golden("vocab_uncased.txt"));
  EXPECT_THAT(run_smelt(str("data inspect ", dir_.file("out/smelt-data.json"))).text,
              HasSubstr("out/smelt-data.json matches only descriptions and indexes of records, and "
                        "no record file"));
  io::write_file(dir_.file("out/smelt-data.json"), "{}");
  EXPECT_THAT(build(uncased_ + " --overwrite").text,
              HasSubstr("out/smelt-data.json is not a description of examples, but would be"));
}

TEST_F(ElectraData, ReadsOpenWebTextArchives) {
  const std::string golden_folder = source_path("tests/golden/electra/openwebtext");
  for (const std::string& name : io::list_folder(golden_folder))
    io::write_file(dir_.file("openwebtext/" + name),
                   io::read_file(io::join_path(golden_folder, name)));
  const std::string command = str("electra build_openwebtext_pretraining_dataset --data-dir ",
                                  dir_.path(), " --max-seq-length 24");
  EXPECT_THAT(run_smelt(command).text, HasSubstr("vocab.txt: No such file or directory"));
  io::write_file(dir_.file("vocab.txt"), io::read_file(golden("vocab_uncased.txt")));
  EXPECT_EQ(hash_of(run_smelt(command), "pretrain_tfrecords"), recorded_hash("openwebtext_12345"));
}

TEST_F(ElectraData, RejectsANonEmptyOutputFolder) {
  io::write_file(dir_.file("out/notes.txt"), "keep");
  const CommandOutput refused = build(uncased_);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.text,
              AllOf(HasSubstr("out is not empty: it holds notes.txt\n"),
                    HasSubstr("use --overwrite, which replaces pretrain_data.tfrecord-* and "
                              "smelt-data.json there and "
                              "touches nothing else")));
  EXPECT_EQ(build(uncased_ + " --overwrite").status, 0);
  EXPECT_EQ(io::read_file(dir_.file("out/notes.txt")), "keep");
  EXPECT_THAT(build(uncased_ + " --output-dir=" + dir_.file("corpus/../corpus/out")).text,
              AllOf(HasSubstr("/corpus, the folder of the text files\n"),
                    HasSubstr("hint: name a folder outside of it")));
}

TEST_F(ElectraData, WarnsAboutTruncatedLines) {
  io::remove_tree(dir_.file("corpus"));
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "the ";
  io::write_file(dir_.file("corpus/line.txt"), line);
  EXPECT_THAT(build(uncased_).text,
              AllOf(HasSubstr("of the text's 1000 tokens are not in any example: lines longer than "
                              "an example are truncated"),
                    HasSubstr("some files are empty: 1 example in 1000 files")));
}

// The signal arrives while the program waits for text from a pipe.
TEST_F(ElectraData, PrintsHowToResumeWhenInterrupted) {
  const CommandOutput ended =
      run_command(str("exec 2>&1; mkfifo ", dir_.file("corpus/pipe"), "; ", smelt_program(),
                      " electra build_pretraining_dataset --corpus-dir ", dir_.file("corpus"),
                      " --output-dir ", dir_.file("out"), uncased_, " & pid=$!; while [ ! -e ",
                      dir_.file("out/pretrain_data.tfrecord-0-of-1000.work/job.json"),
                      " ] && kill -0 $pid; do sleep 0.01; done; kill -TERM $pid; wait $pid"));
  EXPECT_EQ(ended.status, 75);
  EXPECT_THAT(
      ended.text,
      HasSubstr("\nstopped: run the same command again to resume; finished work is kept\n"));
}

TEST_F(ElectraData, ReportsInvalidFlagsByTheOriginalNames) {
  EXPECT_THAT(build(uncased_ + " --max-seq-lenght 16").text,
              AllOf(HasSubstr("smelt electra build_pretraining_dataset: unknown flag "
                              "--max-seq-lenght"),
                    HasSubstr("did you mean '--max-seq-length'?")));
  EXPECT_THAT(build(uncased_ + " --num-processes 0").text, HasSubstr("--num-processes: "));
  EXPECT_THAT(build(uncased_ + " --blanks-separate-docs maybe").text,
              HasSubstr("--blanks-separate-docs"));
  EXPECT_THAT(build("").text, HasSubstr("--vocab-file is required"));
  io::write_file(dir_.file("vocab.txt"), io::read_file(golden("vocab_uncased.txt")));
  io::write_file(dir_.file("tokenizer_config.json"), R"({"strip_accents": false})");
  EXPECT_THAT(build("--vocab-file " + dir_.file("vocab.txt")).text,
              AllOf(HasSubstr("--do-strip-accents: true, but "),
                    HasSubstr("hint: set --do-strip-accents to false, or use")));
  EXPECT_THAT(run_smelt("data electra --order orignal --input a --vocab b --out c").text,
              AllOf(HasSubstr("order 'orignal' is unknown"), HasSubstr("original")));
}

}  // namespace
}  // namespace smelt::cli
