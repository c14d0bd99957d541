// `smelt data inspect`, `data index` and `data bench` as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "io/formats/token_store.h"
#include "pipeline/objectives/show_example.h"
#include "support/bert_records.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class InspectCommand : public testing::Test {
 protected:
  InspectCommand() {
    std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int id = 5; id < 100; ++id) words += id == 11 ? "##ing\n" : str("w", id, "\n");
    io::write_file(vocab_, words);
    write_test_examples(records_, 50, 4, [](int number, TestExample& e) {
      if (number == 51) e.input_ids[2] = 51;
    });
  }
  CommandOutput data(const std::string& arguments) const {
    return run_smelt(str("data ", arguments));
  }

  TempDir dir_;
  std::string vocab_ = dir_.file("vocab.txt"), records_ = dir_.file("a.tfrecord");
};

TEST_F(InspectCommand, PrintsStatisticsHistogramsAndSamples) {
  const CommandOutput output = data(str("inspect ", records_, " --vocab ", vocab_, " --samples 2"));
  EXPECT_EQ(output.status, 0);
  EXPECT_THAT(output.text, HasSubstr("records:     4 in 1 file, "));
  EXPECT_THAT(output.text, HasSubstr("sequences:   8 tokens, 25.0 % padding\n"));
  EXPECT_THAT(output.text, HasSubstr("predictions: 1.0 a sequence, at most 2\n"));
  EXPECT_THAT(output.text, HasSubstr("masked:      16.7 % of the tokens, of which 75.0 % [MASK], "
                                     "25.0 % kept, 0.0 % random\n"));
  EXPECT_THAT(output.text, HasSubstr("random next: 50.0 %\n"));
  EXPECT_THAT(output.text, HasSubstr("description: none\nbad records: 0\n"));
  EXPECT_THAT(output.text, HasSubstr(str("      6       ", std::string(40, '#'), " 4\n")));
  EXPECT_THAT(output.text, HasSubstr("a.tfrecord: record 0, B follows A\n  A: [CLS] w60 {w50 < "
                                     "[MASK]} [SEP]\n  B: ##ing [SEP]\n"));
  EXPECT_THAT(output.text, HasSubstr("record 2, B follows A\n"));
  EXPECT_THAT(output.text, Not(HasSubstr("\033[")));
  EXPECT_THAT(data(str("inspect ", records_)).text,
              HasSubstr("of the tokens, give --vocab to see how\n"));
}

TEST_F(InspectCommand, PrintsTheFirstBadRecordAndDescriptionMismatches) {
  write_test_examples(records_, 0, 3, [](int number, TestExample& e) {
    if (number == 1) e.input_ids[1] = 200;
  });
  io::write_file(records_ + ".json", R"({"files": ["a.tfrecord"], "examples": 5})");
  const CommandOutput output = data(str("inspect ", records_, " --vocab ", vocab_));
  EXPECT_THAT(output.text,
              HasSubstr(str("description: ", records_,
                            ".json\n  contradiction: examples 5 in the description, 3 found\n",
                            "bad records: 1\n  first: ", records_, ", record 1 at offset ")));
  EXPECT_THAT(output.text, HasSubstr("input_ids[1] = 200 is out of range for vocab_size 100"));
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.text, HasSubstr("error: inspect: 1 of 3 records is bad, see above\n"));
}

TEST_F(InspectCommand, PrintsJson) {
  const auto json =
      Json::parse(data(str("inspect ", records_, " --vocab ", vocab_, " --json --samples 1")).text);
  EXPECT_EQ(json["records"], 4);
  EXPECT_EQ(json["tokens"], 24);
  EXPECT_EQ(json["lengths"], (Json{0, 0, 0, 0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(json["mask_positions"], (Json{0, 4, 0}));
  EXPECT_EQ(json["masks"], (Json{{"masked", 3}, {"kept", 1}, {"random", 0}}));
  EXPECT_EQ(json["unknown"], 0);
  EXPECT_EQ(json["features"].size(), 7u);
  EXPECT_EQ(json["features"][0]["name"], "input_ids");
  EXPECT_EQ(json["features"][0]["largest"], 63);
  EXPECT_EQ(json["first_bad"], nullptr);
  EXPECT_EQ(json["description"], nullptr);
  EXPECT_EQ(json["samples"].size(), 1u);
  const auto bare = Json::parse(run_command(str("(", smelt_program(), " data inspect ", records_,
                                                " --json --vocab-size 55 2>/dev/null)"))
                                    .text);
  EXPECT_EQ(bare["masks"], nullptr);
  EXPECT_EQ(bare["bad_records"], 4);
  EXPECT_EQ(bare["first_bad"]["offset"], 0);
  EXPECT_THAT(bare["first_bad"]["fault"], HasSubstr("out of range for vocab_size 55"));
}

// Writes records with features that smelt does not know: two integers, a real and a string.
void write_other_records(const std::string& path) {
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    io::ExampleWriter writer;
    writer.integers("label", std::vector<std::int32_t>{i, -5});
    writer.reals("score", std::vector<float>{i == 2 ? std::numeric_limits<float>::infinity()
                                                    : static_cast<float>(i) / 2});
    writer.bytes("text", std::vector<std::string>{std::string(static_cast<std::size_t>(i), 'x')});
    io::append_record(bytes, writer.take());
  }
  io::write_file(path, bytes);
}

TEST_F(InspectCommand, PrintsStatisticsOfArbitraryFeatures) {
  write_other_records(records_);
  const CommandOutput output = data(str("inspect ", records_, " --samples 1"));
  EXPECT_EQ(output.status, 0);
  EXPECT_THAT(output.text, HasSubstr("features of a record:\n"
                                     "  label: 2 integers, -5 to 2, 16.7 % zeros\n"
                                     "  score: 1 reals, 0 to 0.5, 33.3 % zeros, 1 not finite\n"
                                     "  text: 1 byte strings of 0 to 2 bytes, 33.3 % empty\n"
                                     "description: none\nbad records: 0\n"));
  EXPECT_THAT(output.text,
              HasSubstr("a.tfrecord: record 0\n  label: 0 -5\n  score: 0\n  text: \"\"\n"));
  const auto json = Json::parse(data(str("inspect ", records_, " --json")).text);
  EXPECT_EQ(json["features"][0],
            Json::parse(R"({"name": "label", "type": "integers", "count": 2, "values": 6,
                "zeros": 1, "not_finite": 0, "smallest": -5, "largest": 2})"));
  EXPECT_FALSE(json.contains("tokens"));
  EXPECT_THAT(
      data(str("inspect ", records_, " --vocab ", vocab_)).text,
      HasSubstr(
          "a.tfrecord: record 0: no input_ids, but --vocab is given\n  hint: leave out --vocab"));
}

// Like those of ELECTRA, the records have input_ids but not all features of BERT's.
TEST_F(InspectCommand, PrintsAndChecksIdsOfOtherRecords) {
  std::string bytes;
  for (const std::int32_t last : {11, 100}) {
    io::ExampleWriter writer;
    writer.integers("input_ids", std::vector<std::int32_t>{2, 60, last, 3, 0, 0});
    writer.integers("input_mask", std::vector<std::int32_t>{1, 1, 1, 1, 0, 0});
    io::append_record(bytes, writer.take());
  }
  io::write_file(records_, bytes);
  const CommandOutput output = data(str("inspect ", records_, " --vocab ", vocab_, " --samples 1"));
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.text, AllOf(HasSubstr("bad records: 1\n"),
                                 HasSubstr("input_ids[2] = 100 is out of range for vocab_size 100"),
                                 HasSubstr("a.tfrecord: record 0\n  input_ids: [CLS] w60ing [SEP]\n"
                                           "  input_mask: 1 1 1 1 0 0\n")));
  EXPECT_EQ(data(str("inspect ", records_, " --vocab-size 101")).status, 0);
  io::write_file(vocab_, "a\nb\n");
  EXPECT_THAT(data(str("inspect ", records_, " --vocab-size 61 --vocab ", vocab_)).text,
              HasSubstr("features of a record:\n"));
}

TEST_F(InspectCommand, CountsABadRecordAndShowsNoSample) {
  for (const std::int32_t bad : {-1, std::numeric_limits<std::int32_t>::max()}) {
    io::ExampleWriter writer;
    writer.integers("input_ids", std::vector<std::int32_t>{2, bad});
    std::string bytes;
    io::append_record(bytes, writer.take());
    io::write_file(records_, bytes);
    const CommandOutput out = data(str("inspect ", records_, " --samples 1 --vocab ", vocab_));
    EXPECT_EQ(out.status, 2);
    EXPECT_THAT(out.text, AllOf(HasSubstr(str("input_ids[1] = ", bad, " is out of range")),
                                Not(HasSubstr("a.tfrecord: record 0\n"))));
  }
}

TEST_F(InspectCommand, RejectsAVocabularyWithoutMask) {
  io::write_file(vocab_, "a\nb\n");
  const CommandOutput output = data(str("inspect ", records_, " --vocab ", vocab_));
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.text, HasSubstr("[MASK]"));
}

TEST_F(InspectCommand, IndexWritesAnIndexBesideEachFile) {
  write_test_examples(dir_.file("b.tfrecord"), 0, 3);
  const CommandOutput output = data(str("index '", dir_.file("*.tfrecord"), "'"));
  EXPECT_EQ(output.text,
            str(records_, ".index: 4 records\n", dir_.file("b.tfrecord.index"), ": 3 records\n"));
  EXPECT_TRUE(std::filesystem::exists(records_ + ".index"));
  const auto json = Json::parse(data(str("inspect '", dir_.file("*"), "record*' --json")).text);
  EXPECT_EQ(json["files"], 2);
  EXPECT_EQ(json["records"], 7);
}

TEST_F(InspectCommand, BenchPrintsRecordCountAndFiniteRates) {
  const auto json =
      OrderedJson::parse(data(str("bench ", records_, " --batch 3 --seconds 0.01")).text);
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) {
    names.push_back(name);
    EXPECT_TRUE(value.is_number()) << name << " is " << value;  // JSON writes infinity as null
  }
  EXPECT_THAT(names, ElementsAre("records", "open_s", "in_order_per_s", "shuffled_per_s"));
  EXPECT_EQ(json["records"], 4);
  EXPECT_GT(json["in_order_per_s"], 0);
  EXPECT_GT(json["shuffled_per_s"], 0);
}

TEST_F(InspectCommand, BenchReadsTokenWindowsOfEachObjective) {
  std::string store;
  io::TokenStoreWriter writer({}, 2, [&](std::string_view more) { store += more; });
  writer.add(std::vector<std::int32_t>(2000, 7));
  writer.finish();
  io::write_file(dir_.file("x.tokens"), store);
  const auto windows = [&](const std::string& more) {
    const auto out = data(str("bench ", dir_.file("x.tokens"), " --batch 2 --seconds 0.01 ", more));
    EXPECT_EQ(out.status, 0) << out.text;
    return Json::parse(out.text)["records"].get<int>();
  };
  EXPECT_EQ(windows(""), 3);                              // windows of 512 tokens
  EXPECT_EQ(windows("--objective iid_denoise_text"), 3);  // of 512 tokens
  EXPECT_EQ(windows("--objective span_corruption"), 3);   // of 568 tokens
  EXPECT_THAT(data(str("bench ", dir_.file("x.tokens"), " --objective spans 2>&1")).text,
              HasSubstr("bench: --objective 'spans' is unknown"));
}

TEST_F(InspectCommand, BenchReadsRecordsWithManyFeatures) {
  io::ExampleWriter writer;
  for (int i = 0; i < 40; ++i) writer.integers(str("feature", i), std::vector<std::int32_t>{i});
  std::string file;
  io::append_record(file, writer.take());
  io::write_file(dir_.file("many"), file);
  const auto out = data(str("bench ", dir_.file("many"), " --batch 1 --seconds 0.01"));
  EXPECT_EQ(Json::parse(out.text)["records"], 1);
}

TEST(ShowExample, JoinsPiecesByThePrefixOfTheVocabulary) {
  const text::Vocabulary vocabulary({"[PAD]", "un", "@@do", "##x", "@@"}, "vocabulary", "@@");
  data::Batch batch =
      data::empty_batch(data::bert_features({.seq_length = 5, .max_predictions = 1}, 100), 1);
  const std::vector<std::vector<std::int32_t>> values{{1, 2, 3, 4, 2}, {1, 1, 1, 1, 1}};
  for (std::size_t i = 0; i < values.size(); ++i)
    std::ranges::copy(values[i], batch.arrays[i].values<std::int32_t>().begin());
  EXPECT_EQ(pipeline::show_example("here", data::BertRow(batch), &vocabulary, false),
            "here, B follows A\n  A: undo ##x @@do\n");
}

TEST(ShowExample, ShowsUnknownIdsAsNumbers) {
  const text::Vocabulary vocabulary({"[PAD]", "un", "##do"}, "vocabulary");
  io::ExampleWriter writer;
  writer.integers("input_ids", std::vector<std::int32_t>{1, -1, 2, 3});
  EXPECT_EQ(pipeline::show_features("here", io::Example(writer.take(), "here"), &vocabulary),
            "here\n  input_ids: un -1do 3\n");
}

TEST(ShowExample, ColorsPredictionsAndShowsIdsWithoutAVocabulary) {
  data::Batch batch =
      data::empty_batch(data::bert_features({.seq_length = 5, .max_predictions = 2}, 100), 1);
  const std::vector<std::vector<std::int32_t>> values{
      {2, 8, 9, 3, 0}, {1, 1, 1, 1, 0}, {0, 0, 0, 0, 0}, {1, 2}, {7, 9}, {}, {1}};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i != 5) std::ranges::copy(values[i], batch.arrays[i].values<std::int32_t>().begin());
  std::ranges::fill(batch.arrays[5].values<float>(), 1.0f);
  const data::BertRow row(batch);
  EXPECT_EQ(pipeline::show_example("here", row, nullptr, false),
            "here, B is random\n  A: 2 {7 < 8} {9 =} 3\n");
  EXPECT_EQ(pipeline::show_example("here", row, nullptr, true),
            "\033[2mhere, B is random\033[0m\n  A: 2 {\033[1;32m7\033[0m < \033[31m8\033[0m} "
            "{\033[33m9\033[0m =} 3\n");
}

}  // namespace
}  // namespace smelt::cli
