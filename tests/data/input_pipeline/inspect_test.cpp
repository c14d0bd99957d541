#include "data/input_pipeline/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "data/preprocess/bert_statistics.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/crc32c.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "support/bert_records.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Ids 0..99: [PAD] [UNK] [CLS] [SEP] [MASK], then w5, w6 …
std::string vocabulary() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int id = 5; id < 100; ++id) text += str("w", id, "\n");
  return text;
}

class Inspect : public testing::Test {
 protected:
  Inspect() { io::write_file(vocab_, vocabulary()); }
  InspectOptions options() const {
    return {.input = dir_.file("*.tfrecord"), .vocab = vocab_, .kinds = {find_bert_records}};
  }
  static const BertStatistics& bert(const RecordStatistics& s) {
    return dynamic_cast<const BertStatistics&>(*s.kind);
  }
  void describe(const Json& change = Json::object()) const {
    Json description{{"kind", "bert"},
                     {"files", {"a.tfrecord"}},
                     {"examples", 6},
                     {"seq_length", 8},
                     {"max_predictions", 2},
                     {"masked_tokens", 6},
                     {"vocabulary", {{"file", "v"}, {"crc32c", io::crc32c(vocabulary())}}}};
    description.update(change);
    io::write_file(dir_.file("a.tfrecord.json"), description.dump());
  }
  TempDir dir_;
  std::string vocab_ = dir_.file("vocab.txt");
};

TEST_F(Inspect, CountsMatchHandComputedValues) {
  // Six examples of 6 tokens, each with one prediction at position 2, where the input is [MASK].
  write_test_examples(dir_.file("a.tfrecord"), 50, 6, [](int number, TestExample& e) {
    if (number == 51) e.input_ids[2] = 51;         // kept
    if (number == 52) e.input_ids[2] = 9;          // random
    if (number == 53) e.masked_lm_weights[0] = 0;  // no prediction
    if (number == 54)
      e.masked_lm_positions[1] = 4, e.masked_lm_weights[1] = 1;  // a second prediction, on token 11
    if (number == 55)
      e.input_mask[5] = e.input_ids[5] = 0, e.input_ids[4] = 1;  // shorter, with an [UNK]
  });
  const RecordStatistics s = inspect_records(options());
  EXPECT_EQ(s.records, 6u);
  EXPECT_EQ(s.files, 1u);
  EXPECT_EQ(s.bytes, io::read_file(dir_.file("a.tfrecord")).size());
  EXPECT_EQ(bert(s).tokens, 35u);
  EXPECT_THAT(bert(s).lengths, ElementsAre(0, 0, 0, 0, 0, 1, 5, 0, 0));
  EXPECT_EQ(bert(s).predictions, 6u);
  EXPECT_THAT(bert(s).mask_positions, ElementsAre(1, 4, 1));
  EXPECT_EQ(bert(s).masks.masked, 3u);
  EXPECT_EQ(bert(s).masks.kept, 1u);
  EXPECT_EQ(bert(s).masks.random, 2u);
  EXPECT_EQ(bert(s).unknown, 1u);
  EXPECT_EQ(bert(s).random_next, 3u);
  EXPECT_EQ(bert(s).largest_id, 65);
  EXPECT_EQ(s.bad_records, 0u);
  EXPECT_FALSE(s.first_bad.has_value());
  EXPECT_EQ(s.ids.mask, 4);
  EXPECT_EQ(inspect_records({.input = dir_.file("a.tfrecord")}).ids.mask, -1);
}

TEST_F(Inspect, CountsTheSameOnAnyNumberOfThreads) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 9000, [](int number, TestExample& e) {
    for (int i = 0; i < number % 5; ++i) e.input_mask[static_cast<std::size_t>(7 - i)] = 0;
    if (number % 997 == 500) e.segment_ids.clear();
  });
  InspectOptions one = options(), many = options();
  one.threads = 1;
  many.threads = 7;
  const RecordStatistics a = inspect_records(one), b = inspect_records(many);
  EXPECT_EQ(bert(a).lengths, bert(b).lengths);
  EXPECT_EQ(bert(a).tokens, bert(b).tokens);
  EXPECT_EQ(a.bad_records, 9u);
  EXPECT_EQ(b.bad_records, 9u);
  EXPECT_EQ(a.first_bad->record, 500u);
  EXPECT_EQ(b.first_bad->record, 500u);
  EXPECT_EQ(a.first_bad->fault, b.first_bad->fault);
}

// Bytes that this process has read so far, from files of any kind.
std::uint64_t bytes_this_process_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  io >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

TEST_F(Inspect, DoesNotRereadFilesForBadRecords) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 3000, [](int number, TestExample& e) {
    if (number > 0) e.segment_ids.clear();
  });
  InspectOptions one = options();
  one.threads = 1;
  const std::uint64_t size = io::file_size(dir_.file("a.tfrecord")),
                      before = bytes_this_process_read();
  EXPECT_EQ(inspect_records(one).bad_records, 2999u);
  EXPECT_LT(bytes_this_process_read() - before, 4 * size);
}

TEST_F(Inspect, ReportsFileRecordAndOffsetOfTheFirstBadRecord) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 2);
  write_test_examples(dir_.file("b.tfrecord"), 0, 5, [](int number, TestExample& e) {
    if (number == 3) e.input_ids[1] = 100;
  });
  std::string bytes = io::read_file(dir_.file("b.tfrecord"));
  const std::uint64_t size = bytes.size() / 5;
  bytes[4 * size + 30] = static_cast<char>(bytes[4 * size + 30] ^ 1);  // the last record's data
  io::write_file(dir_.file("b.tfrecord"), bytes);
  const RecordStatistics s = inspect_records(options());
  EXPECT_EQ(s.bad_records, 2u);
  ASSERT_TRUE(s.first_bad.has_value());
  EXPECT_EQ(s.first_bad->file, dir_.file("b.tfrecord"));
  EXPECT_EQ(s.first_bad->record, 3u);
  EXPECT_EQ(s.first_bad->offset, 3 * size);
  EXPECT_THAT(s.first_bad->fault,
              HasSubstr("input_ids[1] = 100 is out of range for vocab_size 100"));
  EXPECT_EQ(bert(s).tokens, 5u * 6);  // only of the undamaged records
}

TEST_F(Inspect, SamplesAreSpreadOverAllRecords) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 10);
  InspectOptions options = this->options();
  options.samples = 3;
  const RecordStatistics s = inspect_records(options);
  ASSERT_EQ(s.samples.size(), 3u);
  EXPECT_THAT(s.samples[0].place, HasSubstr("a.tfrecord: record 0"));
  EXPECT_THAT(s.samples[1].place, HasSubstr("record 3"));
  EXPECT_THAT(s.samples[2].place, HasSubstr("record 6"));
  options.samples = 100;
  EXPECT_EQ(inspect_records(options).samples.size(), 10u);
}

TEST_F(Inspect, ReportsContradictionsWithTheDescription) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 6);
  EXPECT_THAT(inspect_records(options()).description, IsEmpty());
  describe();
  const RecordStatistics agrees = inspect_records(options());
  EXPECT_EQ(agrees.description, dir_.file("a.tfrecord.json"));
  EXPECT_THAT(agrees.contradictions, IsEmpty());
  describe({{"examples", 7},
            {"seq_length", 16},
            {"max_predictions", 3},
            {"masked_tokens", 5},
            {"vocabulary", {{"file", "v"}, {"crc32c", 1}}}});
  EXPECT_THAT(inspect_records(options()).contradictions,
              ElementsAre("seq_length 16 in the description, 8 found",
                          "max_predictions 3 in the description, 2 found",
                          str("checksum of the vocabulary 1 in the description, ",
                              io::crc32c(vocabulary()), " found"),
                          "examples 7 in the description, 6 found",
                          "masked_tokens 5 in the description, 6 found"));
}

TEST_F(Inspect, ReportsFilesOfTheDescriptionThatAreNotGiven) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 6);
  describe({{"files", {"a.tfrecord", "b.tfrecord"}}, {"examples", 12}});
  EXPECT_THAT(inspect_records(options()).contradictions,
              ElementsAre("2 files in the description, 1 of them not given (b.tfrecord)"));
}

TEST_F(Inspect, CountsEmptyLists) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 3, [](int, TestExample& e) {
    for (auto* list :
         {&e.input_ids, &e.input_mask, &e.segment_ids, &e.masked_lm_positions, &e.masked_lm_ids})
      list->clear();
    e.masked_lm_weights.clear();
  });
  const RecordStatistics s = inspect_records(options());
  EXPECT_EQ(s.bad_records, 0u);
  ASSERT_NE(s.kind, nullptr);
  EXPECT_THAT(bert(s).lengths, ElementsAre(3));
  EXPECT_EQ(bert(s).largest_id, 0);
  ASSERT_EQ(s.features.size(), 7u);
  EXPECT_EQ(s.features[0].values, 0u);
  EXPECT_FALSE(s.features[0].integers.has_value());
}

TEST_F(Inspect, CountsFeaturesOfUnknownRecordKinds) {
  std::string bytes;
  for (int i = 0; i < 10; ++i) {
    io::ExampleWriter writer;
    writer.reals("x", std::vector<float>{static_cast<float>(i) - 2, NAN});
    writer.bytes("text", std::vector<std::string>{std::string(static_cast<std::size_t>(i), 'x')});
    if (i == 4) writer.integers("more", std::vector<std::int32_t>{1});
    io::append_record(bytes, writer.take());
  }
  io::write_file(dir_.file("a.tfrecord"), bytes);
  const RecordStatistics s = inspect_records(
      {.input = dir_.file("a.tfrecord"), .samples = 10, .kinds = {find_bert_records}});
  EXPECT_EQ(s.kind, nullptr);
  EXPECT_EQ(s.bad_records, 1u);
  EXPECT_THAT(
      s.first_bad->fault,
      HasSubstr("a.tfrecord: record 4: has more, text, x, but the first record has text, x"));
  ASSERT_EQ(s.features.size(), 2u);
  const FeatureStatistics &x = s.features[0], &text = s.features[1];
  EXPECT_EQ(x.feature, (io::ExampleFeature{"x", io::ExampleKind::reals, 2}));
  EXPECT_EQ(x.values, 18u);
  EXPECT_EQ(x.zeros, 1u);
  EXPECT_EQ(x.not_finite, 9u);
  EXPECT_EQ(x.reals->smallest, -2);
  EXPECT_EQ(x.reals->largest, 7);
  EXPECT_EQ(text.values, 9u);
  EXPECT_EQ(text.zeros, 1u);
  EXPECT_EQ(text.integers->largest, 9);
  EXPECT_EQ(s.samples.size(), 9u);
  EXPECT_FALSE(s.samples[0].row.has_value());
}

// A kind for tests: records with one number.
struct NumberStatistics : KindStatistics {
  void add(const Batch& record, SpecialIds) override {
    sum += record.arrays[0].values<std::int32_t>()[0];
  }
  void add(const KindStatistics& others) override {
    sum += dynamic_cast<const NumberStatistics&>(others).sum;
  }
  DescribedFigures settings() const override { return {{"numbers", 1}}; }
  DescribedFigures counts() const override { return {{"sum", sum}}; }
  std::int64_t sum = 0;
};

std::optional<RecordKind> find_numbers(const std::vector<io::ExampleFeature>& features,
                                       std::int64_t id_limit) {
  if (features.size() != 1 || features[0].name != "number") return std::nullopt;
  return RecordKind{.features = {{.name = "number", .limit = id_limit}},
                    .statistics = [] { return std::make_unique<NumberStatistics>(); }};
}

TEST_F(Inspect, CountsAndChecksRecordKindsOfTheCaller) {
  std::string bytes;
  for (std::int32_t i = 0; i < 9000; ++i) {
    io::ExampleWriter writer;
    writer.integers("number", std::vector<std::int32_t>{i});
    io::append_record(bytes, writer.take());
  }
  io::write_file(dir_.file("a.tfrecord"), bytes);
  InspectOptions options{.input = dir_.file("a.tfrecord"),
                         .samples = 1,
                         .threads = 3,
                         .kinds = {find_bert_records, find_numbers}};
  io::write_file(dir_.file("a.tfrecord.json"),
                 R"({"files": ["a.tfrecord"], "numbers": 2, "sum": 7})");
  const RecordStatistics s = inspect_records(options);
  EXPECT_EQ(s.kind_number, 1u);
  EXPECT_EQ(dynamic_cast<const NumberStatistics&>(*s.kind).sum, 8999 * 9000 / 2);
  EXPECT_TRUE(s.samples.at(0).row.has_value());
  EXPECT_THAT(s.contradictions, ElementsAre("numbers 2 in the description, 1 found",
                                            "sum 7 in the description, 40495500 found"));
  options.vocab_size = 8999;
  EXPECT_EQ(inspect_records(options).bad_records, 1u);
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST_F(Inspect, RejectsInvalidOptions) {
  write_test_examples(dir_.file("a.tfrecord"), 0, 1);
  InspectOptions options = this->options();
  options.samples = -1;
  EXPECT_THAT(refusal([&] { inspect_records(options); }),
              HasSubstr("inspect: expected 0 or more, got samples -1 and threads 0"));
  std::string bytes;
  io::append_record(bytes, "");
  io::write_file(dir_.file("a.tfrecord"), bytes);
  EXPECT_THAT(
      refusal([&] { inspect_records(this->options()); }),
      HasSubstr(
          "a.tfrecord: record 0: no input_ids, but --vocab is given\n  hint: leave out --vocab"));
}

}  // namespace
}  // namespace smelt::data
