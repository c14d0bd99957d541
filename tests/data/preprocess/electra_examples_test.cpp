// Compares ELECTRA's examples with the original programs' bytes (tools/golden_electra_data.py); the
// shuffled order; invalid input.
#include "data/preprocess/electra_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "data/input_pipeline/inspect.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_tokens.h"
#include "data/preprocess/small_corpus.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/sha256.h"

namespace smelt::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string golden_text(const std::string& name) {
  return source_path("tests/golden/pretraining/" + name);
}
std::string golden_electra(const std::string& name) {
  return source_path("tests/golden/electra/" + name);
}

Json golden_cases() { return Json::parse(io::read_file(golden_electra("hashes.json"))); }
Json golden_case(std::string_view name) {
  for (const auto& item : golden_cases())
    if (item["name"] == name) return item;
  throw BugError(str("no case ", name));
}

class ElectraExamplesTest : public testing::Test {
 protected:
  ElectraExamplesJob job(std::string_view text = "One line.\nAnother line.\n\nA document.\n") {
    io::write_file(dir_.file("in.txt"), text);
    ElectraExamplesJob job;
    job.text.input = dir_.file("in.txt");
    job.vocab = golden_vocabulary();
    job.output = dir_.file("out");
    job.options.seq_length = 32;
    return job;
  }
  ElectraExamplesJob small_job(int documents, const std::string& output) {
    ElectraExamplesJob small = job(small_text(documents));
    small.output = dir_.file(output);
    small.threads = 2;
    small.memory = 64 << 10;
    small.sizes = small_sizes();
    return small;
  }
  ElectraExamplesJob golden_job(const Json& item);
  static std::string hash_of_files(const ElectraExamplesJob& job);
  // Returns the concatenated output files of the job.
  static std::string joined(const ElectraExamplesJob& job) {
    std::string out;
    for (const std::string& path : output_names(job.output, job.shards, job.shard_names))
      out += io::read_file(path);
    return out;
  }
  std::string bytes(const ElectraExamplesJob& job) {
    build_electra_examples(job);
    return joined(job);
  }
  static std::multiset<std::string> records(const std::string& bytes) {
    std::multiset<std::string> out;
    io::RecordReader reader(bytes);
    while (const auto record = reader.next()) out.emplace(*record);
    return out;
  }
  static ElectraExamplesJob in_own_folder(ElectraExamplesJob job, const std::string& output,
                                          std::int64_t shards) {
    job.order = ExampleOrder::original;
    job.output = output;
    job.shards = shards;
    job.shard_names = ShardNames::original;
    job.own_folder = true;
    return job;
  }
  std::string refusal(const ElectraExamplesJob& job) {
    const std::string message = error_of([&] { build_electra_examples(job); });
    EXPECT_FALSE(fs::exists(dir_.file("out"))) << message;
    return message;
  }

  CapturedLog log_;
  TempDir dir_;
};

ElectraExamplesJob ElectraExamplesTest::golden_job(const Json& item) {
  ElectraExamplesJob job;
  job.folder = dir_.file("corpus");
  job.archives = item["inputs"].empty();
  if (job.archives) job.folder = golden_electra("openwebtext");
  io::remove_tree(dir_.file("corpus"));
  for (const std::string name : item["inputs"])
    io::write_file(io::join_path(job.folder, name), io::read_file(golden_text(name)));
  const bool cased = item["cased"], accents = item["accents"];
  job.vocab = golden_text(cased ? "vocab_cased.txt" : "vocab_uncased.txt");
  job.output = dir_.file(item["name"].get<std::string>() + "/pretrain_data.tfrecord");
  job.shards = 1000;
  job.shard_names = ShardNames::original;
  job.own_folder = true;
  job.description = false;
  job.order = ExampleOrder::original;
  job.tokenizer = {.lower_case = !cased, .strip_accents = !cased && !accents};
  job.seed = item["seed"];
  job.options = {.seq_length = item["seq_length"], .blanks_separate_docs = item["blanks"]};
  return job;
}

std::string ElectraExamplesTest::hash_of_files(const ElectraExamplesJob& job) {
  std::string lines;
  for (int i = 0; i < 1000; ++i)
    lines += str(i, " ", sha256(io::read_file(str(job.output, "-", i, "-of-1000"))), "\n");
  return sha256(lines);
}

TEST_F(ElectraExamplesTest, MatchTheOriginalProgramsByteForByte) {
  const auto items = golden_cases();
  ASSERT_GE(items.size(), 20u);
  for (const auto& item : items) {
    const ElectraExamplesJob job = golden_job(item);
    EXPECT_EQ(build_electra_examples(job).examples, item["examples"]) << item["name"];
    EXPECT_EQ(hash_of_files(job), item["sha256"]) << item["name"];
    EXPECT_EQ(io::list_folder(io::parent_path(job.output)).size(), 1000u);
  }
}

// File names as ELECTRA's users have them; the features are in no fixed order.
std::string original_name(int file) { return str("pretrain_data.tfrecord-", file, "-of-1000"); }

TEST_F(ElectraExamplesTest, IndexesAndInspectsFilesOfTheOriginalPrograms) {
  std::uint64_t tokens = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string file = dir_.file(original_name(i));
    io::write_file(file, io::read_file(golden_electra(original_name(i))));
    EXPECT_EQ(index_records(file, ""), 1u);
    tokens += RecordIndex({file}).tokens(0).value();
  }
  const RecordStatistics s =
      inspect_records({.input = dir_.file("pretrain_data.tfrecord*"), .samples = 1});
  EXPECT_EQ(s.records, 3u);
  EXPECT_EQ(s.bad_records, 0u);
  ASSERT_EQ(s.features.size(), 3u);
  std::map<std::string, std::uint64_t> zeros;
  for (const FeatureStatistics& feature : s.features) {
    EXPECT_EQ(feature.feature.count, 128u) << feature.feature.name;
    zeros[feature.feature.name] = feature.zeros;
  }
  EXPECT_GT(zeros.at("input_mask"), 0u);
  EXPECT_EQ(zeros.at("input_mask"), 384 - tokens);
  EXPECT_EQ(zeros.at("input_ids"), 384 - tokens);
}

TEST_F(ElectraExamplesTest, FeaturesMatchFilesOfTheOriginalPrograms) {
  const ElectraExamplesJob ours = golden_job(golden_case("cased_128_blanks_12345"));
  build_electra_examples(ours);
  for (int i = 0; i < 3; ++i) {
    const std::string theirs = io::read_file(golden_electra(original_name(i))),
                      made = io::read_file(
                          io::join_path(io::parent_path(ours.output), original_name(i)));
    const io::Example x(io::RecordReader(theirs).next().value(), "theirs"),
        y(io::RecordReader(made).next().value(), "ours");
    for (const char* feature : {"input_ids", "input_mask", "segment_ids"})
      EXPECT_EQ(x.integers(feature), y.integers(feature)) << i << " " << feature;
  }
}

TEST_F(ElectraExamplesTest, OriginalOrderDoesNotDependOnRangeSizes) {
  ElectraExamplesJob whole = small_job(600, "whole");
  whole.order = ExampleOrder::original;
  whole.shards = 3;
  whole.shard_names = ShardNames::original;
  whole.sizes.range_bytes = 16 << 20;
  const std::string wanted = bytes(whole);
  for (const int range : {700, 5000}) {
    ElectraExamplesJob other = whole;
    other.output = dir_.file(str("of-", range));
    other.sizes.range_bytes = static_cast<std::uint64_t>(range);
    other.threads = 3;
    EXPECT_TRUE(bytes(other) == wanted) << range;
  }
}

TEST_F(ElectraExamplesTest, ThreadsMemoryAndShardsDoNotChangeTheShuffledOrder) {
  const std::string whole = bytes(small_job(600, "whole"));
  for (const int threads : {1, 3}) {
    ElectraExamplesJob other = small_job(600, str("of-", threads));
    other.threads = threads;
    other.shards = threads;
    other.memory = 1 << 20;
    EXPECT_TRUE(bytes(other) == whole) << threads;
  }
}

TEST_F(ElectraExamplesTest, ExamplesDependOnlyOnDocumentNumberAndSeed) {
  const auto few = records(bytes(small_job(100, "few")));
  const auto many = records(bytes(small_job(600, "many")));
  EXPECT_GT(few.size(), 300u);
  EXPECT_TRUE(std::ranges::includes(many, few));
  ElectraExamplesJob other = small_job(100, "seed");
  other.seed = 7;
  EXPECT_FALSE(std::ranges::includes(many, records(bytes(other))));
}

// No change of the program may change the data unnoticed.
TEST_F(ElectraExamplesTest, ShuffledOrderMatchesTheGoldenHash) {
  for (const auto& made : {job(small_text(300)), small_job(300, "small")})
    EXPECT_EQ(sha256(bytes(made)),
              "f7bc4b1744f49a71b121c043a718a53654aed8b259fe46d45244d056d10f28c9");
}

TEST_F(ElectraExamplesTest, BlankLinesEndDocumentsOnlyIfConfigured) {
  std::string text;
  for (int line = 0; line < 40; ++line) text += "One short line.\n\n";
  ElectraExamplesJob blanks = job(text);
  EXPECT_EQ(build_electra_examples(blanks).text.documents, 40u);
  blanks.overwrite = true;
  blanks.options.blanks_separate_docs = false;
  const ExampleSummary joined = build_electra_examples(blanks);
  EXPECT_EQ(joined.text.documents, 1u);
  EXPECT_LT(joined.examples, 20u);
}

TEST_F(ElectraExamplesTest, TheDescriptionContainsSettingsAndCounts) {
  ElectraExamplesJob described = job();
  const ExampleSummary summary = build_electra_examples(described);
  const auto json = Json::parse(io::read_file(dir_.file("out.json")));
  EXPECT_EQ(json["kind"], "electra");
  EXPECT_EQ(json["seq_length"], 32);
  EXPECT_EQ(json["control_characters"], "electra");
  EXPECT_EQ(json["examples"], summary.examples);
  EXPECT_EQ(json["example_tokens"], *RecordIndex({dir_.file("out")}).tokens(0) +
                                        *RecordIndex({dir_.file("out")}).tokens(1));
  std::map<std::int64_t, std::uint64_t> counts;
  for (const std::string& record : records(io::read_file(dir_.file("out"))))
    for (const io::Example example(record, "out"); const auto id : example.integers("input_ids"))
      ++counts[id];
  const text::Vocabulary vocabulary = text::Vocabulary::load(described.vocab);
  for (const char* special : {"[PAD]", "[CLS]", "[SEP]"}) counts.erase(vocabulary.id(special));
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  EXPECT_EQ(json["majority_token"]["id"], most->first);
  EXPECT_EQ(json["majority_token"]["count"], most->second);
  EXPECT_GT(most->second, 1u);
}

TEST_F(ElectraExamplesTest, StoredOptionsDecideControlCharacters) {
  ElectraExamplesJob stored = job();
  stored.vocab = dir_.file("vocab.txt");
  io::write_file(stored.vocab, io::read_file(golden_vocabulary()));
  io::write_file(dir_.file("tokenizer_config.json"), R"({"tokenizer_class": "BertTokenizer"})");
  build_electra_examples(stored);
  EXPECT_EQ(Json::parse(io::read_file(dir_.file("out.json")))["control_characters"], "bert");
}

// Kills a run in the original order at random times; the output is a reserved folder.
TEST_F(ElectraExamplesTest, AKilledRunResumesToTheSameBytes) {
  const ElectraExamplesJob whole =
      in_own_folder(small_job(2000, "whole/r"), dir_.file("whole/r"), 12);
  const auto begin = std::chrono::steady_clock::now();
  const std::string wanted = bytes(whole);
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  std::mt19937 random(std::random_device{}());
  for (int kills = 0; kills < 8; ++kills) {
    ElectraExamplesJob killed = whole;
    const std::string folder = dir_.file(str("killed", kills));
    killed.output = folder + "/r";
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(error_of([&] { build_electra_examples(killed); }) == "no error" ? 0 : 1);
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<long>(0, longest.count())(random)));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    const std::string outcome = error_of([&] { build_electra_examples(killed); });
    EXPECT_TRUE(outcome == "no error" || fs::exists(folder + "/smelt-data.json")) << outcome;
    EXPECT_TRUE(joined(killed) == wanted) << kills;
  }
}

TEST_F(ElectraExamplesTest, RejectsTooSmallAndTooLargeLengths) {
  ElectraExamplesJob wrong = job();
  wrong.options.seq_length = 4;
  EXPECT_THAT(refusal(wrong),
              HasSubstr("seq_length 4 is less than the 5 of [CLS] a [SEP] b [SEP]"));
  wrong.options.seq_length = 65537;
  EXPECT_THAT(refusal(wrong), HasSubstr("seq_length 65537 is more than 65536"));
}

TEST_F(ElectraExamplesTest, RejectsAMissingVocabularyOrOneWithoutSpecialTokens) {
  ElectraExamplesJob wrong = job();
  wrong.vocab = dir_.file("none.txt");
  EXPECT_THAT(refusal(wrong), HasSubstr("none.txt: No such file or directory"));
  wrong.vocab = dir_.file("v.txt");
  io::write_file(wrong.vocab, "[PAD]\n[UNK]\n[SEP]\n[MASK]\na\n");
  for (const auto order : {ExampleOrder::shuffled, ExampleOrder::original}) {
    wrong.order = order;
    EXPECT_THAT(refusal(wrong), HasSubstr("v.txt: has no token [CLS]"));
  }
}

TEST_F(ElectraExamplesTest, RejectsFoldersWithoutFilesOrWithSubfolders) {
  ElectraExamplesJob wrong = job();
  wrong.order = ExampleOrder::original;
  wrong.folder = dir_.file("none");
  EXPECT_THAT(refusal(wrong), HasSubstr("none is not there\n  hint: name the folder that holds"));
  io::make_folders(wrong.folder);
  EXPECT_THAT(refusal(wrong),
              HasSubstr("none holds no files\n  hint: name the folder that holds the text files"));
  io::write_file(dir_.file("corpus/a.txt"), "text\n");
  io::write_file(dir_.file("corpus/b/c.txt"), "text\n");
  wrong.folder = dir_.file("corpus/a.txt");
  EXPECT_THAT(refusal(wrong), HasSubstr("a.txt is a file, not a folder\n  hint: name the folder"));
  wrong.folder = dir_.file("corpus");
  EXPECT_THAT(refusal(wrong), HasSubstr("corpus/b is a folder among the text files\n"
                                        "  hint: move it away"));
}

TEST_F(ElectraExamplesTest, RejectsEmptyTextAndFilesThatAreNotArchives) {
  ElectraExamplesJob empty = job(" \n\n");
  for (const auto order : {ExampleOrder::shuffled, ExampleOrder::original}) {
    empty.order = order;
    EXPECT_THAT(refusal(empty), HasSubstr("the input holds no text (1 file)"));
  }
  ElectraExamplesJob text = job();
  text.order = ExampleOrder::original;
  text.archives = true;
  EXPECT_THAT(refusal(text), HasSubstr("in.txt: damaged or truncated tar archive: "));
}

TEST_F(ElectraExamplesTest, TheOriginalOrderReadsOnlyPlainText) {
  ElectraExamplesJob wrong = job();
  wrong.order = ExampleOrder::original;
  wrong.text.sentences = text::Cut::prose;
  EXPECT_THAT(refusal(wrong),
              HasSubstr("order original reads only text files with one sentence per line\n"
                        "  hint: use the shuffled order"));
  wrong = job("The caf\xe9.\n");
  wrong.order = ExampleOrder::original;
  wrong.text.limits.strict = true;
  EXPECT_THAT(refusal(wrong), HasSubstr("in.txt:1: not UTF-8 (1 byte)"));
  wrong.text.limits.strict = false;
  EXPECT_EQ(build_electra_examples(wrong).text.dropped_bytes, 1u);
}

TEST_F(ElectraExamplesTest, NeverDeletesOtherFilesInAReservedFolder) {
  ElectraExamplesJob own = in_own_folder(job(), dir_.file("my,folder/r"), 2);
  own.description = false;
  io::write_file(dir_.file("my,folder/thesis.txt"), "years");
  const auto message = [&] { return error_of([&] { build_electra_examples(own); }); };
  EXPECT_THAT(message(), AllOf(HasSubstr("folder is not empty: it holds thesis.txt\n"),
                               HasSubstr("hint: choose another folder, or use --overwrite, which "
                                         "replaces r-* and smelt-data.json there and ")));
  own.overwrite = true;
  EXPECT_EQ(message(), "no error");
  EXPECT_EQ(message(), "no error");
  EXPECT_EQ(io::read_file(dir_.file("my,folder/thesis.txt")), "years");
  EXPECT_EQ(io::list_folder(dir_.file("my,folder")),
            (std::vector<std::string>{"r-0-of-2", "r-1-of-2", "thesis.txt"}));
  io::write_file(dir_.file("my,folder/r-2-of-3"), "");
  EXPECT_THAT(message(),
              HasSubstr("folder holds r-2-of-3, which is not one of the 2 files that are "
                        "written, and would be read with them\n"
                        "  hint: move it away, or choose another folder"));
}

TEST_F(ElectraExamplesTest, ReservedFolderMayBeTheWorkingDirectory) {
  const ElectraExamplesJob own = in_own_folder(job(), "r", 2);
  const fs::path before = fs::current_path();
  fs::current_path(dir_.path());
  const std::string message = error_of([&] { build_electra_examples(own); });
  fs::current_path(before);
  EXPECT_THAT(message, HasSubstr("output folder . is not empty: it holds in.txt"));
}

}  // namespace
}  // namespace smelt::data
