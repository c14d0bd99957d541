// smelt create_pretraining_data with the original's flags, which absl parses, its defaults and its
// output bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/sha256.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string golden(const std::string& name) {
  return source_path("tests/golden/pretraining/" + name);
}

std::string recorded_hash(const std::string& name) {
  for (const auto& item : Json::parse(io::read_file(golden("hashes.json"))))
    if (item["name"] == name) return item["sha256"][0];
  return "no case " + name;
}

// Runs the command on english.txt with the sizes of the recorded cases. Returns the hash of the
// output file, or the program's output if it fails.
std::string hash_with(const std::string& flags) {
  const TempDir dir;
  const CommandOutput output = run_smelt(
      str("create_pretraining_data --input_file=", golden("english.txt"), " --output_file ",
          dir.file("out"), " --max_seq_length=64 --max_predictions_per_seq=10", " --dupe_factor=3 ",
          flags));
  if (output.status != 0) return output.text;
  EXPECT_THAT(output.text, HasSubstr("total instances"));
  EXPECT_FALSE(std::filesystem::exists(dir.file("out.json")));
  return sha256(io::read_file(dir.file("out")));
}

TEST(CreatePretrainingData, AcceptsEverySpellingOfABoolean) {
  const std::string cased = " --vocab_file=" + golden("vocab_cased.txt");
  for (const char* flag : {"--nodo_lower_case", "--do_lower_case=False", "--do_lower_case=false",
                           "--do_lower_case=f", "--do_lower_case=0"})
    EXPECT_EQ(hash_with(flag + cased), recorded_hash("english_cased_12345")) << flag;
  const std::string uncased = " --vocab_file=" + golden("vocab_uncased.txt");
  for (const char* flag : {"", "--do_lower_case", "--do_lower_case=True", "--do_lower_case=1"})
    EXPECT_EQ(hash_with(flag + uncased), recorded_hash("english_uncased_12345")) << flag;
  EXPECT_EQ(hash_with("--do_whole_word_mask=True --random_seed=7" + uncased),
            recorded_hash("english_whole_word_7"));
}

TEST(CreatePretrainingData, UsesTheLastOfRepeatedFlagsAndReadsFlagFiles) {
  const TempDir dir;
  io::write_file(dir.file("flags"),
                 str("# the vocabulary\n--vocab_file=", golden("vocab_cased.txt"),
                     "\n\n--flagfile=", dir.file("more"), "\n"));
  io::write_file(dir.file("more"), "// the case\n  --nodo_lower_case\n--random_seed=3\n");
  EXPECT_EQ(hash_with(str("--do_lower_case --random_seed=1 --flagfile=", dir.file("flags"),
                          " --random_seed=12345")),
            recorded_hash("english_cased_12345"));
  EXPECT_EQ(hash_with("--flagfile " + dir.file("flags") + " --random_seed 12345"),
            recorded_hash("english_cased_12345"));
}

// As in absl, an integer with a leading zero is decimal.
TEST(CreatePretrainingData, AcceptsSingleDashesAndLoggingFlagsLikeAbsl) {
  const TempDir dir;
  io::write_file(dir.file("flags"),
                 str("-vocab_file=", golden("vocab_cased.txt"), "\n-nodo_lower_case\n"));
  EXPECT_EQ(
      hash_with(str("-flagfile=", dir.file("flags"),
                    " -random_seed=012345 --logtostderr -v=1 --verbosity 0 --noalsologtostderr "
                    "-stderrthreshold=info --log_dir ",
                    dir.path())),
      recorded_hash("english_cased_12345"));
  EXPECT_THAT(hash_with("--vocab_file=" + golden("vocab_cased.txt") + " --logtostder"),
              HasSubstr("unknown flag --logtostder"));
}

TEST(CreatePretrainingData, ReportsFlagsByTheOriginalNames) {
  const TempDir dir;
  const auto refusal = [&](const std::string& flag) {
    return run_smelt(str("create_pretraining_data --input_file=", golden("english.txt"),
                         " --output_file=", dir.file("out"),
                         " --vocab_file=", dir.file("vocab.txt"), " ", flag))
        .text;
  };
  for (const std::string flag : {"--do_lower_case", "--do_whole_word_mask"})
    EXPECT_THAT(refusal(flag + "=maybe"),
                AllOf(HasSubstr(flag + ": maybe not in {true,false,"),
                      HasSubstr("hint: `smelt create_pretraining_data --help` lists the flags")));
  io::write_file(dir.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  io::write_file(dir.file("tokenizer_config.json"), R"({"do_lower_case": false})");
  EXPECT_THAT(refusal(""), AllOf(HasSubstr("--do_lower_case: true, but "),
                                 HasSubstr("hint: set --do_lower_case to false, or use")));
}

}  // namespace
}  // namespace smelt::cli
