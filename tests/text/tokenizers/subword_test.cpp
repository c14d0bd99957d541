// Unigram and BPE vocabularies: models, tokenizer.json, and the pieces of texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "text/tokenizers/bpe_model.h"
#include "text/tokenizers/bpe_trainer.h"
#include "text/tokenizers/byte_level.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/unigram_model.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using PieceList = std::vector<std::string>;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

PieceList words_of(std::string_view text) {
  PieceList words;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = byte_level_word_end(text, begin);
    words.emplace_back(text.substr(begin, end - begin));
  }
  return words;
}

PieceList with_special(PieceList pieces) {
  PieceList all{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  all.insert(all.end(), pieces.begin(), pieces.end());
  return all;
}

// ▁ab ▁a b c d 東 京 東京, by their scores.
SubwordFile small_unigram(const TokenizerOptions& options = {}) {
  SubwordFile file = own_subword_file(
      SubwordKind::unigram,
      with_special({"▁ab", "▁a", "b", "c", "▁", "東", "京", "東京", ",", "▁東"}), options);
  file.scores = {0, 0, 0, 0, 0, -2, -2, -3, -3, -3, -4, -4, -2, -3, -5};
  return file;
}

SubwordFile small_byte_bpe() {
  SubwordFile file = own_subword_file(SubwordKind::byte_bpe,
                                      with_special({"a", "b", "Ġ", "Ġa", "Ġab", "Ã", "©", "Ã©"}),
                                      {.lower_case = false});
  file.merges = {{7, 5}, {8, 6}, {10, 11}};
  return file;
}

PieceList pieces_of(const Tokenizer& tokenizer, std::string_view text) {
  PieceList out;
  for (const TokenSpan& span : tokenizer.encode_with_offsets(text))
    out.push_back(tokenizer.token(span.id));
  return out;
}

TEST(ByteLevel, SplitsTextByCharacterClass) {
  const std::map<std::string, PieceList> cases{
      {"Hello world's 12th", {"Hello", " world", "'s", " 12", "th"}},
      {"we'll 'tis", {"we", "'ll", " '", "tis"}},
      {"a   b", {"a", "  ", " b"}},
      {"a \n", {"a", " \n"}},
      {"a\n\nb", {"a", "\n", "\n", "b"}},
      {" ", {" "}},
      {"né!? 東京１", {"né", "!?", " 東京", "１"}}};
  for (const auto& [text, words] : cases) EXPECT_EQ(words_of(text), words) << text;
}

TEST(ByteLevel, MapsEveryByteToADistinctCharacter) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  EXPECT_EQ(from_byte_characters(to_byte_characters(bytes)), bytes);
  EXPECT_EQ(to_byte_characters(" é\n"), "ĠÃ©Ċ");
  EXPECT_EQ(from_byte_characters("東"), std::nullopt);
}

TEST(UnigramModel, UsesThePiecesWithTheBestTotalScore) {
  // 0 is unknown; "ab" and "c" cost 5, "a" and "bc" 4.
  const UnigramModel model({"", "a", "ab", "bc", "c"}, {0, -2, -3, -2, -2}, 0);
  const auto parts = [&](std::string_view word) {
    std::vector<WordPart> out;
    model.encode(word, out);
    return out;
  };
  EXPECT_THAT(parts("abc"), ElementsAre(WordPart{1, 1}, WordPart{3, 2}));
  EXPECT_THAT(parts("aéüc"), ElementsAre(WordPart{1, 1}, WordPart{0, 4}, WordPart{4, 1}))
      << "a run of unknown characters is one piece";
  EXPECT_THAT(parts(""), ElementsAre());
}

TEST(BpeModel, MergesTheEarliestLearnedPairFirst) {
  const PieceList pieces{"a", "b", "c", "ab", "bc", "abc"};
  const auto parts = [&](const BpeSettings& settings, std::string_view word) {
    std::vector<WordPart> out;
    BpeModel(pieces, {{1, 2}, {0, 1}}, settings, "test").encode(word, out);
    return out;
  };
  EXPECT_THAT(parts({}, "abc"), ElementsAre(WordPart{0, 1}, WordPart{4, 2}));
  EXPECT_THAT(parts({}, "abb"), ElementsAre(WordPart{3, 2}, WordPart{1, 1}));
  EXPECT_THAT(parts({.ignore_merges = true}, "abc"), ElementsAre(WordPart{5, 3}));
  EXPECT_THAT(parts({}, "axb"), ElementsAre(WordPart{3, 2})) << "an unknown character vanishes";
  EXPECT_THAT(parts({.unknown = 2}, "axxb"),
              ElementsAre(WordPart{0, 1}, WordPart{2, 1}, WordPart{2, 1}, WordPart{1, 1}));
  EXPECT_THAT(parts({.unknown = 2, .fuse_unknown = true}, "axéb"),
              ElementsAre(WordPart{0, 1}, WordPart{2, 3}, WordPart{1, 1}));
}

TEST(BpeModel, UsesTheLaterRankOfARepeatedMerge) {
  std::vector<WordPart> out;
  BpeModel({"a", "b", "c", "ab", "bc"}, {{0, 1}, {1, 2}, {0, 1}}, {}, "test").encode("abc", out);
  EXPECT_THAT(out, ElementsAre(WordPart{0, 1}, WordPart{4, 2})) << "as tokenizers 0.22 does";
}

TEST(BpeModel, SplitsALongWordLikeItsParts) {
  // No merge crosses "x", so the parts are merged separately.
  const PieceList pieces{"a", "b", "x", "ab", "aab", "ba"};
  const BpeModel model(pieces, {{0, 1}, {0, 3}, {1, 0}}, {}, "test");
  std::vector<WordPart> parts, one;
  std::string word;
  for (int i = 0; i < 40; ++i) word += "aabbax";
  model.encode("aabbax", one);
  model.encode(word, parts);
  ASSERT_EQ(parts.size(), 40 * one.size());
  for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i], one[i % one.size()]) << i;
}

TEST(BpeModel, RejectsAMergeWithoutAPiece) {
  EXPECT_THAT(
      refusal([] { BpeModel({"a", "b"}, {{0, 1}}, {}, "m.json"); }),
      HasSubstr("m.json: merge 0 of pieces 0 and 1 gives text that is not in the vocabulary"));
}

TEST(BpeTrainer, MergesTheMostFrequentPairs) {
  const TrainedBpe trained =
      train_byte_bpe({{" aab", 5}, {"ab", 3}, {"xyz", 1}}, {"[UNK]"}, {.vocab_size = 300});
  ASSERT_EQ(trained.pieces.size(), 257u + trained.merges.size());
  EXPECT_EQ(trained.pieces[0], "[UNK]");
  EXPECT_EQ(trained.pieces[1], "!") << "bytes in the order of their characters";
  EXPECT_THAT(PieceList(trained.pieces.begin() + 257, trained.pieces.end()),
              ElementsAre("ab", "aab", " aab"))
      << "of the equally frequent a+ab and Ġ+a the one with the smaller ids is merged";
  EXPECT_THAT(refusal([] { train_byte_bpe({}, {"[UNK]"}, {.vocab_size = 256}); }),
              HasSubstr("256 pieces have no room for 1 special tokens and 256 bytes"));
}

TEST(SubwordTokenizer, UnigramAppliesItsNormalizer) {
  const SubwordTokenizer tokenizer(small_unigram(), "test");
  EXPECT_THAT(pieces_of(tokenizer, "AB  c "), ElementsAre("▁ab", "▁", "c"));
  EXPECT_THAT(pieces_of(tokenizer, "東京,東京"), ElementsAre("▁", "東京", ",", "東京"));
  EXPECT_THAT(pieces_of(tokenizer, "[MASK]"), ElementsAre("▁", "[UNK]")) << "it is text";
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{5, 9, 8}), "ab c");
}

TEST(SubwordTokenizer, OffsetsReferToTheUnnormalizedText) {
  const SubwordTokenizer tokenizer(small_unigram(), "test");
  EXPECT_THAT(tokenizer.encode_with_offsets("ÀB  c"),
              ElementsAre(TokenSpan{5, 0, 3}, TokenSpan{9, 4, 5}, TokenSpan{8, 5, 6}));
}

TEST(SubwordTokenizer, OnlyTheFirstPartOfATextGetsAWordPrefix) {
  const BertTokenizer tokenizer(std::make_shared<const SubwordTokenizer>(small_unigram(), "test"));
  const auto parts = [&](std::string_view before, std::string_view behind) {
    std::vector<std::int32_t> ids;
    tokenizer.encode_part(before, true, true, ids);
    tokenizer.encode_part(behind, false, false, ids);
    PieceList out;
    for (const std::int32_t id : ids) out.push_back(tokenizer.token(id));
    return out;
  };
  EXPECT_THAT(parts("東京", "東京"), ElementsAre("▁", "東京", "東京"));
  EXPECT_THAT(parts("ab ", " ab"), ElementsAre("▁ab", "▁ab"))
      << "the space before the mask belongs to the mask";
}

TEST(SubwordTokenizer, ByteLevelRoundTripsEveryByte) {
  const SubwordTokenizer tokenizer(small_byte_bpe(), "test");
  EXPECT_THAT(pieces_of(tokenizer, "ab aé"), ElementsAre("Ġab", "Ġa", "Ã©"));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{9, 8, 12}), "ab aé");
  EXPECT_EQ(tokenizer.readable_token(9), "▁ab");
  EXPECT_EQ(tokenizer.readable_token(12), "é");
  EXPECT_EQ(tokenizer.readable_token(10), "Ã") << "a part of a character stays as it is";
}

TEST(SubwordTokenizer, LetterPiecesWithoutAWordPrefixContinueAWord) {
  const SubwordTokenizer tokenizer(small_unigram(), "test"), bytes(small_byte_bpe(), "test");
  PieceList continuing;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.continues_word(id)) continuing.push_back(tokenizer.token(id));
  EXPECT_THAT(continuing, ElementsAre("b", "c")) << "Han characters and punctuation do not";
  EXPECT_FALSE(bytes.continues_word(9)) << "Ġab";
  EXPECT_TRUE(bytes.continues_word(6)) << "b";
  EXPECT_TRUE(bytes.continues_word(11)) << "the second byte of a character";
}

TEST(SubwordFile, TokenizerJsonRoundTrips) {
  for (const SubwordFile& file : {small_unigram(), small_byte_bpe()}) {
    const std::string text = subword_json(file);
    EXPECT_TRUE(is_subword_json(text));
    EXPECT_EQ(subword_json(parse_subword_json(text, "tokenizer.json")), text);
    const std::string compact = Json::parse(text).dump();
    EXPECT_EQ(subword_json(parse_subword_json(compact, "tokenizer.json")), text)
        << "the checksum of a vocabulary does not depend on the file's layout";
  }
  EXPECT_FALSE(is_subword_json("[UNK]\n{\n"));
  EXPECT_FALSE(is_subword_json(R"({"model": {"type": "Unigram"}, "added_tokens": []})"))
      << "T5's are SentencePiece models";
  EXPECT_FALSE(is_subword_json(R"({"model": {"type": "WordPiece"}})"));
}

TEST(SubwordFile, VocabJsonAndMergesRoundTrip) {
  const TempDir dir;
  SubwordFile plain = small_byte_bpe();
  make_plain_byte_level(plain);
  const SubwordTokenizer tokenizer(plain, "test");
  tokenizer.save(dir.file("vocab.json"));
  EXPECT_EQ(io::read_file(dir.file("merges.txt"), 1 << 20), "#version: 0.2\nĠ a\nĠa b\nÃ ©\n");
  EXPECT_TRUE(is_subword_file(dir.file("vocab.json")));
  const SubwordFile read = load_subword_file(dir.file("vocab.json"));
  EXPECT_EQ(read.pieces, tokenizer.file().pieces);
  EXPECT_EQ(read.merges, tokenizer.file().merges);
  EXPECT_TRUE(is_plain_byte_level(read));
  EXPECT_THAT(
      refusal([&] { SubwordTokenizer(small_byte_bpe(), "x").save(dir.file("vocab.json")); }),
      HasSubstr("a vocab.json cannot store this vocabulary's normalizer and add_prefix_space"));
  EXPECT_THAT(refusal([&] { SubwordTokenizer(small_unigram(), "x").save(dir.file("vocab.json")); }),
              HasSubstr("only a byte-level BPE vocabulary has a vocab.json"));
  io::write_file(dir.file("merges.txt"), "#version: 0.2\nĠ q\n");
  EXPECT_THAT(refusal([&] { load_subword_file(dir.file("vocab.json")); }),
              HasSubstr("merges.txt: merge 0, 'Ġ' and 'q', is not of two pieces"));
}

TEST(SubwordFile, RejectsSavingToAVocabTxt) {
  const TempDir dir;
  const BertTokenizer tokenizer(std::make_shared<const SubwordTokenizer>(small_unigram(), "u"));
  EXPECT_THAT(refusal([&] { tokenizer.save(dir.file("vocab.txt")); }),
              HasSubstr("u holds a Unigram or BPE vocabulary, which a vocab.txt cannot hold"));
  tokenizer.save(dir.file("tokenizer.json"));
  const BertTokenizer read = BertTokenizer::load(dir.file("tokenizer.json"), {});
  ASSERT_NE(read.subword(), nullptr);
  EXPECT_EQ(read.vocabulary().tokens(), tokenizer.vocabulary().tokens());
  EXPECT_EQ(vocabulary_bytes(dir.file("tokenizer.json")), subword_json(small_unigram()));
  EXPECT_THAT(
      refusal([&] { BertTokenizer::load(dir.file("tokenizer.json"), {.lower_case = false}); }),
      HasSubstr("--lower-case: false, but"));
}

TEST(SubwordFile, SettingsThatChangeIdsAreReadOrRejected) {
  struct Case {
    const char *field, *value, *message;
  };
  const std::vector<Case> unigram{
      {"/model/type", R"("Other")", R"(model.type is "Other", not "Unigram")"},
      {"/model/byte_fallback", "true", "model.byte_fallback is true, not false"},
      {"/model/unk_id", "99", "model.unk_id is 99, not the id of a piece"},
      {"/model/vocab", "[[1, 2]]", "not a list of pieces with their scores"},
      {"/normalizer", R"({"type": "Nmt"})", R"(type is "Nmt", not BertNormalizer, NFC)"},
      {"/normalizer", R"({"type": "BertNormalizer", "handle_chinese_chars": true})",
       "handle_chinese_chars is true, not false"},
      {"/normalizer", R"({"type": "BertNormalizer", "clean_text": false})",
       "clean_text is false, not true"},
      {"/normalizer", R"({"type": "Replace", "pattern": {"Regex": "x+"}, "content": ""})",
       R"(Regex is "x+", not " {2,}")"},
      {"/normalizer", R"({"type": "Replace", "pattern": {"String": ""}, "content": ""})",
       "String is empty"},
      {"/pre_tokenizer", R"({"type": "Split"})", "not Metaspace or ByteLevel"},
      {"/pre_tokenizer/prepend_scheme", R"("last")", "not never, first or always"},
      {"/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": []})", "not one step"},
      {"/post_processor/single", R"([{"Sequence": {"id": "A", "type_id": 0}}])",
       "not [CLS] A [SEP]"}};
  const std::vector<Case> bpe{
      {"/model/dropout", "0.1", "model.dropout is 0.1, not null"},
      {"/model/continuing_subword_prefix", R"("##")", R"(is "##", not null)"},
      {"/model/unk_token", R"("<unk>")", "which is not a piece"},
      {"/model/merges", R"(["a"])", "merge 0, 'a' and '', is not of two pieces"},
      {"/model/merges", "[3]", "not a list of pairs of pieces"},
      {"/model/vocab", R"({"a": 0, "b": 0})", "id 0 is both 'a' and 'b'"},
      {"/model/vocab", R"({"a": 99999})", "a is 99999, far more than the number of tokens, 1"},
      {"/added_tokens/0/id", "99999", "id is 99999, far more than the number of tokens, 13"},
      {"/model/vocab", "[]", "not an object of pieces and ids"}};
  for (const auto& [file, cases] : {std::pair{small_unigram(), unigram}, {small_byte_bpe(), bpe}})
    for (const Case& one : cases) {
      Json json = Json::parse(subword_json(file));
      json.set(one.field, Json::parse(one.value));
      EXPECT_THAT(refusal([&] { parse_subword_json(json.dump(), "t.json"); }),
                  HasSubstr(one.message))
          << one.field;
    }
  EXPECT_THAT(refusal([] { parse_subword_json("x", "t.json"); }),
              HasSubstr("t.json: is not a JSON object"));
  EXPECT_THAT(refusal([] {
                SubwordFile file = small_unigram();
                file.pieces.resize(5);
                SubwordTokenizer(file, "t.json");
              }),
              HasSubstr("t.json: the vocabulary is empty"));
}

TEST(SubwordTokenizer, MatchesIdsAndOffsetsOfHuggingFaceTokenizers) {
  REQUIRE_ORACLE();
  const TempDir dir;
  // Uses all 256 bytes, because that library's offsets are wrong after a byte that it drops.
  TrainedBpe all_bytes =
      train_byte_bpe({{" the", 9}, {" hello", 5}, {"é", 3}}, with_special({}), {.vocab_size = 280});
  for (std::size_t id = 5; id < all_bytes.pieces.size(); ++id)
    all_bytes.pieces[id] = to_byte_characters(all_bytes.pieces[id]);
  SubwordFile byte_bpe =
      own_subword_file(SubwordKind::byte_bpe, all_bytes.pieces, {.lower_case = false});
  byte_bpe.merges = all_bytes.merges;
  for (const auto& [name, file] :
       {std::pair{"own_unigram", small_unigram()}, {"own_byte_bpe", byte_bpe}}) {
    io::write_file(dir.file(str(name, "/tokenizer.json")), subword_json(file));
    io::write_file(dir.file(str(name, "/tokenizer_config.json")), subword_config_json(file).dump());
  }
  const CommandOutput output = run_oracle(str(source_path("tests/text/tokenizers/subword_ids.py"),
                                              " ", dir.path(), " own_unigram own_byte_bpe"));
  ASSERT_EQ(output.status, 0) << output.text;
  std::map<std::string, std::unique_ptr<const SubwordTokenizer>> tokenizers;
  std::ifstream in(dir.file("expected.jsonl"));
  std::size_t texts = 0;
  for (std::string line; std::getline(in, line); ++texts) {
    const Json expected = Json::parse(line);
    const auto name = expected["case"].get<std::string>();
    const auto text = expected["text"].get<std::string>();
    auto& tokenizer = tokenizers[name];
    if (!tokenizer) tokenizer = std::make_unique<SubwordTokenizer>(dir.file(name + ".json"));
    std::vector<std::int32_t> ids;
    tokenizer->encode(text, ids);
    ASSERT_EQ(Json(ids), expected["ids"]) << line;
    Json with_offsets = Json::array(), offsets = Json::array();
    for (const TokenSpan& span : in_characters(text, tokenizer->encode_with_offsets(text))) {
      with_offsets.push_back(span.id);
      offsets.push_back({span.begin, span.end});
    }
    ASSERT_EQ(with_offsets, expected["ids"]) << line;
    ASSERT_EQ(offsets, expected["offsets"]) << line;
  }
  EXPECT_EQ(texts, 23'000u);

  // The trainer on the same words.
  std::map<std::string, std::int64_t> counts;
  std::ifstream train(dir.file("train.txt"));
  for (std::string line; std::getline(train, line);)
    for (const std::string& word : words_of(line + "\n")) ++counts[word];
  const Json trained = Json::parse(io::read_file(dir.file("trained.json"), 1 << 20));
  const TrainedBpe ours = train_byte_bpe(counts, with_special({}), {.vocab_size = 1500});
  PieceList pieces;
  for (std::size_t id = 0; id < ours.pieces.size(); ++id)
    pieces.push_back(id < 5 ? ours.pieces[id] : to_byte_characters(ours.pieces[id]));
  EXPECT_EQ(Json(pieces), trained["pieces"]);
  Json merges = Json::array();
  for (const auto& [left, right] : ours.merges)
    merges.push_back(
        {pieces[static_cast<std::size_t>(left)], pieces[static_cast<std::size_t>(right)]});
  EXPECT_EQ(merges, trained["merges"]);
}

}  // namespace
}  // namespace smelt::text
