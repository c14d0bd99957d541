// Parsing of the tokenizer.json of Unigram models.
// tests/checkpoint/interop/hugging_face_t5_test.cpp compares transformers' own file with its
// spiece.model.
#include "text/tokenizers/unigram_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json added(int id, const char* text, bool special = true) {
  return {{"id", id}, {"content", text}, {"special", special}};
}

Json piece(const char* text, double score = 0) { return Json::array({text, score}); }

Json small() {
  return {{"added_tokens",
           {added(0, "<pad>"), added(1, "</s>"), added(2, "<unk>"), added(7, "<extra_id_1>"),
            added(8, "<extra_id_0>")}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "WhitespaceSplit"}},
              {{"type", "Metaspace"}, {"replacement", "▁"}, {"add_prefix_space", true}}}}}},
          {"model",
           {{"type", "Unigram"},
            {"unk_id", 2},
            {"vocab", Json::array({piece("<pad>"), piece("</s>"), piece("<unk>"), piece("▁a", -1),
                                   piece("▁", -2), piece("b", -3), piece("ab", -2.5),
                                   piece("<extra_id_1>"), piece("<extra_id_0>")})}}}};
}

class UnigramJsonFile : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> load(const Json& file) const {
    io::write_file(dir_.file("tokenizer.json"), file.dump());
    return load_tokenizer(dir_.file("tokenizer.json"), {});
  }
  std::vector<std::int32_t> ids(const Json& file, std::string_view text) const {
    std::vector<std::int32_t> out;
    load(file)->encode(text, out);
    return out;
  }
  static std::string refusal(const Json& file) {
    return error_of<UsageError>([&] { parse_unigram_json(file.dump(), "t.json"); });
  }

  TempDir dir_;
};

TEST_F(UnigramJsonFile, ReadsPiecesWithoutTheTrailingSentinels) {
  const auto tokenizer = load(small());
  EXPECT_EQ(tokenizer->size(), 7);
  EXPECT_EQ(tokenizer->unknown(), 2);
  EXPECT_EQ(tokenizer->token(6), "ab");
  EXPECT_EQ(parse_unigram_json(small().dump(), "t").extra_ids, 2);
  EXPECT_THAT(ids(small(), "  ab   a ba "), ElementsAre(3, 5, 3, 4, 5, 2));
  EXPECT_THAT(ids(small(), "</s>"), testing::Not(testing::Contains(1))) << "a text has no control";
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{3, 5, 4, 6, 1}), "ab ab");
}

TEST_F(UnigramJsonFile, SpacesFollowTheNormalizerAndPreTokenizer) {
  Json file = small();
  file["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "never"}};
  EXPECT_THAT(ids(file, "ab  b"), ElementsAre(6, 4, 4, 5));
  file["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers",
       {{{"type", "Strip"}},
        {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}}}}};
  EXPECT_THAT(ids(file, "ab  b"), ElementsAre(6, 4, 5));
  file["added_tokens"].push_back(added(6, "ab", false));
  EXPECT_THAT(ids(file, "bab"), ElementsAre(5, 6)) << "is never cut";
}

// Compared with the results of transformers 4.57 for the same files.
TEST_F(UnigramJsonFile, SpacesAfterSentinelsMatchTransformers) {
  const auto signs = [](const Json& file) {
    const SpaceSigns s = parse_unigram_json(file.dump(), "t").signs;
    return std::vector<int>{s.at_begin, s.behind_sentinels, s.of_spaces};
  };
  Json file = small();
  EXPECT_THAT(signs(file), ElementsAre(1, 1, 0));
  const auto steps = [&](const char* scheme, bool strip_left) {
    file["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}};
    file["normalizer"] = {
        {"type", "Sequence"},
        {"normalizers",
         {{{"type", "Strip"}, {"strip_left", strip_left}, {"strip_right", true}},
          {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", "▁"}}}}};
    return signs(file);
  };
  EXPECT_THAT(steps("always", false), ElementsAre(1, 1, 0));
  EXPECT_THAT(steps("first", false), ElementsAre(1, 0, 1));
  EXPECT_THAT(steps("never", false), ElementsAre(0, 0, 1));
  EXPECT_THAT(steps("never", true), ElementsAre(0, 0, 0));
}

TEST_F(UnigramJsonFile, ThrowsForUnsupportedSettings) {
  const auto with = [](const char* pointer, const Json& value) {
    Json file = small();
    file.set(pointer, value);
    return refusal(file);
  };
  EXPECT_THAT(error_of<UsageError>([] { parse_unigram_json("{", "t.json"); }),
              HasSubstr("t.json: is not a JSON object"));
  EXPECT_THAT(with("/model/type", "BPE"), HasSubstr("t.json: model.type is \"BPE\", not"));
  EXPECT_THAT(with("/normalizer", {{"type", "Lowercase"}}),
              HasSubstr("t.json: a normalizer Lowercase, which smelt does not support for T5"));
  EXPECT_THAT(with("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "a b"}}),
              HasSubstr("precompiled_charsmap is no base64"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Digits"}}),
              HasSubstr("t.json: a pre_tokenizer Digits, which smelt does not support for T5"));
  EXPECT_THAT(with("/pre_tokenizer", nullptr),
              HasSubstr("pre_tokenizer is missing, not Metaspace"));
  EXPECT_THAT(with("/pre_tokenizer/pretokenizers/1",
                   {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}}),
              HasSubstr("Metaspace with prepend_scheme first after WhitespaceSplit"));
  EXPECT_THAT(with("/normalizer",
                   {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", "_"}}),
              HasSubstr("t.json: content is \"_\""));
  EXPECT_THAT(with("/model/unk_id", 9), HasSubstr("model.unk_id is 9, not the id of a piece"));
  EXPECT_THAT(with("/model/vocab", {"a", "b"}),
              HasSubstr("model.vocab is not a list of pieces with their scores"));
  EXPECT_THAT(with("/added_tokens/0", added(5, "<mask>")),
              HasSubstr("t.json: '<mask>' is added with id 5, which is the piece 'b'"));
  EXPECT_THAT(with("/added_tokens/0/id", -1),
              HasSubstr("t.json: id is not an integer in the valid range"));
  EXPECT_THAT(with("/model/unk_id", 8), HasSubstr("model.unk_id is 8, not the id of a piece"))
      << "a sentinel";
  EXPECT_FALSE(is_sentencepiece_file("nowhere.json"));
  const std::string deep = str(R"({"model":{"type":"Unigram"},"normalizer":)",
                               std::string(100000, '['), std::string(100000, ']'), "}");
  EXPECT_THAT(error_of<UsageError>([&] { parse_unigram_json(deep, "t.json"); }),
              HasSubstr("t.json: is not a JSON object"));
}

// The ids of T5's sentinels descend: <extra_id_0> has the highest. Sentinels in another order are
// read as other added tokens.
TEST_F(UnigramJsonFile, SentinelsWithOtherIdsAreAddedTokens) {
  Json file = small();
  file["model"]["vocab"].erase(8);
  file["model"]["vocab"].erase(7);
  EXPECT_EQ(parse_unigram_json(file.dump(), "t").extra_ids, 2);
  file["added_tokens"][3]["content"] = "<extra_id_0>";
  file["added_tokens"][4]["content"] = "<extra_id_1>";
  const auto names = [](const Json& from) {
    std::vector<std::string> out;
    const UnigramJson read = parse_unigram_json(from.dump(), "t");
    for (const AddedToken& token : read.added.tokens)
      out.push_back(str(token.content, " ", token.id));
    out.push_back(str(read.extra_ids));
    return out;
  };
  EXPECT_THAT(names(file), ElementsAre("<extra_id_0> 7", "<extra_id_1> 8", "0"));
  file = small();
  EXPECT_THAT(names(file), ElementsAre("2"));
  file["added_tokens"].push_back(added(10, "<extra_id_2>"));
  EXPECT_THAT(names(file), ElementsAre("<extra_id_1> 7", "<extra_id_0> 8", "<extra_id_2> 10", "2"));
  file["model"]["vocab"][7] = piece("<extra_id_0>");
  EXPECT_THAT(refusal(file), HasSubstr("t.json: '<extra_id_1>' is added with id 7"));
}

}  // namespace
}  // namespace smelt::text
