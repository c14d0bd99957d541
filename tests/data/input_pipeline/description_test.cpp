#include "data/input_pipeline/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Description, ParsesAllFields) {
  const DataDescription d = parse_description(
      R"({"files": ["a", "b"], "examples": 12, "masked_tokens": 7, "seq_length": 64,
          "vocabulary": {"file": "v", "crc32c": 4294967295},
          "majority_token": {"id": 5, "count": 4},
          "text": {"characters": 30, "tokens": 12}})",
      "a.json");
  EXPECT_THAT(d.files, ElementsAre("a", "b"));
  EXPECT_EQ(d.examples, 12u);
  EXPECT_EQ(d.masked_tokens, 7u);
  EXPECT_EQ(d.vocabulary_file, "v");
  EXPECT_EQ(d.vocabulary_crc32c, 4294967295u);
  EXPECT_EQ(d.majority_token, (MajorityToken{.id = 5, .count = 4}));
  EXPECT_EQ(d.characters_per_token, 2.5);
  EXPECT_EQ(unknown_count(d).tokens, 12u);
  EXPECT_EQ(d.all["seq_length"], 64);
  EXPECT_EQ(parse_description("{}", "a.json").examples, std::nullopt);
}

TEST(Description, ThrowsWithTheMalformedField) {
  const auto message = [](std::string_view text) {
    return error_of<UsageError>([&] { parse_description(text, "a.json"); });
  };
  EXPECT_THAT(message("{"),
              HasSubstr("a.json: not JSON\n  hint: remove the file, or make the data again"));
  EXPECT_THAT(message("[1]"), HasSubstr("a.json: not a JSON object"));
  EXPECT_THAT(message(R"({"examples": -1})"),
              HasSubstr("a.json: examples is not an integer in the valid range"));
  EXPECT_THAT(message(R"({"examples": 1.5})"),
              HasSubstr("examples is not an integer in the valid range"));
  EXPECT_THAT(message(R"({"masked_tokens": 18446744073709551616})"),
              HasSubstr("masked_tokens is not an integer in the valid range"));
  EXPECT_THAT(message(R"({"files": "x"})"), HasSubstr("a.json: files is not a list"));
  EXPECT_THAT(message(R"({"files": [1]})"), HasSubstr("a.json: files is not a list of strings"));
  EXPECT_THAT(message(R"({"vocabulary": 3})"),
              HasSubstr("a.json: vocabulary is not a JSON object"));
  EXPECT_THAT(message(R"({"vocabulary": {"crc32c": 4294967296}})"),
              HasSubstr("a.json: vocabulary.crc32c is not an integer in the valid range"));
  EXPECT_THAT(message(R"({"majority_token": 3})"),
              HasSubstr("a.json: majority_token is not a JSON object"));
  EXPECT_THAT(message(R"({"majority_token": {"id": "the"}})"),
              HasSubstr("a.json: majority_token.id is not an integer in the valid range"));
  EXPECT_THAT(message(R"({"vocabulary": {"file": 1}})"), HasSubstr("a.json: vocabulary.file is 1"));
}

TEST(Description, ComparesLabelsInAnyUnicodeNormalization) {
  const DataDescription d = parse_description(R"({"labels": ["cafe\u0301", "no"]})", "a.json");
  check_description(d, {.examples = 1, .vocab = {}, .settings = {{"labels", {"caf\u00E9", "no"}}}});
  EXPECT_THAT(error_of<UsageError>([&] {
                check_description(
                    d, {.examples = 1, .vocab = {}, .settings = {{"labels", {"cafe", "no"}}}});
              }),
              HasSubstr("a.json: labels is"));
}

TEST(Description, ThrowsWithFoundAndExpectedValue) {
  const TempDir dir;
  io::write_file(dir.file("vocab"), "a\nb\n");
  const DataDescription d = parse_description(
      str(R"({"examples": 12, "seq_length": 64, "next_sentence": false, "order": "shuffled",
              "vocabulary": {"file": "v", "crc32c": )",
          io::crc32c("a\nb\n"), "}}"),
      "a.json");
  const auto message = [&](const ExpectedData& expected) {
    return error_of<UsageError>([&] { check_description(d, expected); });
  };
  const ExpectedData right{
      .examples = 12,
      .vocab = dir.file("vocab"),
      .settings = {{"seq_length", 64}, {"order", "shuffled"}, {"not described", 3}}};
  EXPECT_EQ(message(right), "no error");
  ExpectedData other = right;
  other.examples = 13;
  EXPECT_EQ(
      message(other),
      "a.json: examples is 12, expected 13\n  hint: files are missing or from another run: make "
      "the data again, with `smelt run` or `smelt data`");
  other = right;
  other.settings[0].second = 128;
  EXPECT_EQ(
      message(other),
      "a.json: seq_length is 64, expected 128\n  hint: set seq_length to 64, or make the data "
      "again, with `smelt run` or `smelt data`");
  other = right;
  other.settings.emplace_back("next_sentence", true);
  EXPECT_THAT(message(other), HasSubstr("a.json: next_sentence is false, expected true"));
  other = right;
  io::write_file(dir.file("other"), "a\n");
  other.vocab = dir.file("other");
  EXPECT_EQ(message(other),
            str("a.json: the vocabulary's CRC-32C (v) is ", io::crc32c("a\nb\n"), ", expected ",
                io::crc32c("a\n"), "\n  hint: make the data again with ", other.vocab,
                ", by `smelt run` or `smelt data`"));
}

TEST(Description, UnknownTokenWarningSuitsTheVocabularyType) {
  const auto warning_of = [](const std::string& vocabulary) {
    CapturedLog log;
    warn_of_unknown_tokens(parse_description(
        str(R"({"text": {"tokens": 10, "unknown_tokens": 5})", vocabulary, "}"), "a.json"));
    return log.text();
  };
  EXPECT_THAT(warning_of(R"(, "vocabulary": {"file": "m/vocab.model"})"),
              AllOf(HasSubstr("(<unk>): m/vocab.model"), HasSubstr("--byte-fallback"),
                    Not(HasSubstr("--cased"))));
  EXPECT_THAT(warning_of(R"(, "vocabulary": {"file": "m/vocab.txt"})"),
              AllOf(HasSubstr("([UNK]): m/vocab.txt"), HasSubstr("--cased")));
  EXPECT_THAT(warning_of(""), HasSubstr("([UNK]): the vocabulary of the data"));
}

}  // namespace
}  // namespace smelt::data
