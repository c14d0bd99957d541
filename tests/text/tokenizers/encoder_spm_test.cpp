// SentencePiece models of encoders against transformers' DebertaV2TokenizerFast, and their
// character map.
#include "text/tokenizers/encoder_spm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>

#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/wire.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "text/tokenizers/precompiled_map.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::text {
namespace {

using testing::HasSubstr;

TEST(EncoderSpm, GivesTheIdsAndOffsetsOfTransformers) {
  REQUIRE_ORACLE();
  const TempDir dir;
  const CommandOutput output =
      run_oracle(str(source_path("tests/text/tokenizers/deberta_ids.py"), " ", dir.path()));
  ASSERT_EQ(output.status, 0) << output.text;
  std::map<std::string, std::unique_ptr<const SubwordTokenizer>> tokenizers;
  std::ifstream in(dir.file("expected.jsonl"));
  std::size_t texts = 0;
  for (std::string line; std::getline(in, line); ++texts) {
    const Json expected = Json::parse(line);
    const auto name = expected["vocab"].get<std::string>();
    const auto text = expected["text"].get<std::string>();
    auto& tokenizer = tokenizers[name];
    if (!tokenizer) tokenizer = std::make_unique<SubwordTokenizer>(dir.file(name));
    std::vector<std::int32_t> ids;
    tokenizer->encode(text, ids);
    EXPECT_EQ(Json(ids), expected["ids"]) << line;
    Json offsets = Json::array();
    for (const TokenSpan& span : in_characters(text, tokenizer->encode_with_offsets(text)))
      offsets.push_back({span.begin, span.end});
    if (!expected["offsets"].is_null()) {
      EXPECT_EQ(offsets, expected["offsets"]) << line;
    }
  }
  EXPECT_EQ(texts, 2800U);

  const std::string spm = dir.file("spm/spm.model");
  EXPECT_EQ(wordpiece_file_in(dir.file("spm")), spm);
  EXPECT_TRUE(is_subword_file(spm) && !is_sentencepiece_file(spm));
  const std::string json = vocabulary_bytes(spm);
  EXPECT_EQ(subword_json(parse_subword_json(json, "again")), json);
  const Vocabulary vocabulary = Vocabulary::load(spm);
  EXPECT_EQ(vocabulary.id("[PAD]"), 0);
  EXPECT_EQ(vocabulary.id("[CLS]"), 1);
  EXPECT_EQ(vocabulary.id("[MASK]"), vocabulary.size() - 1);
  for (const char* file : {"xlmr/sentencepiece.bpe.model", "camembert/sentencepiece.bpe.model",
                           "roberta/vocab.json", "prefix/vocab.json"}) {
    const std::string path = dir.file(file);
    EXPECT_EQ(wordpiece_file_in(io::parent_path(path)), path);
    const Vocabulary special = Vocabulary::load(path);
    const bool is_camembert = path.find("camembert") != path.npos;
    EXPECT_EQ(special.id("[CLS]"), is_camembert ? 5 : 0) << file;
    EXPECT_EQ(special.id("[SEP]"), is_camembert ? 6 : 2) << file;
    EXPECT_EQ(special.id("[PAD]"), 1) << file;
    EXPECT_EQ(special.separators(), 2U) << file;
    const std::string stored = vocabulary_bytes(path);
    EXPECT_EQ(subword_json(parse_subword_json(stored, "again")), stored);
  }
}

// Returns a SentencePiece model without a character map.
std::string small_spm(std::vector<std::string> pieces, std::uint64_t type = 1) {
  io::WireWriter out, trainer;
  for (const std::string& piece : pieces) {
    io::WireWriter one;
    one.bytes(1, piece);
    one.real(2, -1.0F);
    out.message(1, one);
  }
  trainer.varint(3, type);
  trainer.integer(40, 0);
  out.message(2, trainer);
  return out.take();
}

TEST(EncoderSpm, IsAUnigramModelWithBertsSpecialPieces) {
  const TempDir dir;
  const auto is_one = [&](const std::string& bytes) {
    io::write_file(dir.file("spm.model"), bytes);
    return is_encoder_spm(dir.file("spm.model"));
  };
  EXPECT_TRUE(is_one(small_spm({"[UNK]", "[PAD]", "[CLS]", "[SEP]", "a"})));
  EXPECT_FALSE(is_one(small_spm({"[UNK]", "[PAD]", "[CLS]", "a"}))) << "a T5's";
  EXPECT_FALSE(is_one(small_spm({"[UNK]", "[PAD]", "[CLS]", "[SEP]"}, 2))) << "BPE";
  EXPECT_FALSE(is_one("\xFF\xFF")) << "damaged";
  EXPECT_FALSE(is_encoder_spm(dir.file("missing.model")));
}

TEST(EncoderSpm, ThatSplitsAtPunctuationIsRefused) {
  const TempDir dir;
  io::write_file(dir.file("spm.model"), small_spm({"[UNK]", "[PAD]", "[CLS]", "[SEP]", "a"}));
  io::write_file(dir.file("tokenizer_config.json"), R"({"split_by_punct": true})");
  EXPECT_THAT(error_of<UsageError>([&] { load_encoder_spm(dir.file("spm.model")); }),
              HasSubstr("spm.model: split_by_punct in tokenizer_config.json is true, must be "
                        "false\n  hint: give the spm.model of a DeBERTa-v3"));
}

TEST(EncoderSpm, WithoutUnknownPieceOrWithADamagedMapIsRefused) {
  const TempDir dir;
  const auto refusal = [&](const std::string& bytes) {
    io::write_file(dir.file("spm.model"), bytes);
    return error_of<UsageError>([&] { load_encoder_spm(dir.file("spm.model")); });
  };
  EXPECT_THAT(refusal(small_spm({"[UNK]", "[CLS]", "a"})),
              HasSubstr("spm.model: has no [CLS], [SEP] or unknown piece\n  hint: give"));
  io::WireWriter normalizer, more;
  normalizer.bytes(2, "xyz");
  more.message(3, normalizer);
  EXPECT_THAT(refusal(small_spm({"[UNK]", "[PAD]", "[CLS]", "[SEP]"}) + more.take()),
              HasSubstr("spm.model: its precompiled_charsmap is damaged\n  hint: give"));
}

TEST(PrecompiledMap, OfDamagedBytesIsNotRead) {
  using namespace std::string_literals;
  EXPECT_FALSE(PrecompiledMap::parse(""));
  EXPECT_FALSE(PrecompiledMap::parse("\x08\0\0\0abcd"s)) << "the trie is longer than the bytes";
  EXPECT_FALSE(PrecompiledMap::parse("\x03\0\0\0abcd"s)) << "no whole units";
  // A trie whose root points beyond its end changes nothing.
  const auto map = PrecompiledMap::parse("\x04\0\0\0\0\xFF\xFF\x7F"s);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->apply(MappedText::of("a\r\n\u00e9", 0, true)).text, "a\r\n\u00e9");
}

TEST(Base64, IsReadAndWritten) {
  for (const auto& [bytes, text] :
       {std::pair{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}}) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  EXPECT_EQ(from_base64("a b"), std::nullopt);
}

}  // namespace
}  // namespace smelt::text
