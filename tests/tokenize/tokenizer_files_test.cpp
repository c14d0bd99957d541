// Tokenizers of files: the options beside a vocabulary, tokenizer.json and SentencePiece models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "store/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "text/unicode.h"
#include "tokenize/casing.h"
#include "tokenize/script_texts.h"
#include "tokenize/sentencepiece.h"
#include "tokenize/tokenizer_json.h"
#include "tokenize/wordpiece.h"

namespace smelt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;
using Words = std::vector<std::string>;

std::string usage_error(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

// Their lower case knows no final sigma, their tables are old.
bool is_alike_to_hugging_face(const std::string& text) {
  return std::ranges::all_of(to_code_points(text),
                             [](char32_t c) { return c != U'Σ' && known_to_unicode(8, c); });
}

class TokenizerFile : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    write_file(dir_.file(name), content);
    return dir_.file(name);
  }
  std::string vocab(const std::string& name = "vocab.txt") {
    return file(name, "[UNK]\na\nA\n##b\né\n");
  }
  // The lines that a script of tests/tokenize prints as JSON into `out`, from these texts.
  std::vector<Json> oracle(const std::string& script, const std::string& argument,
                           const Words& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += Json(text).dump() + "\n";
    const CommandOutput output =
        run_command(str(oracle_python(), " ", source_path("tests/tokenize/" + script), " ",
                        argument, " ", file("texts.jsonl", lines), " ", dir_.file("out")));
    EXPECT_EQ(output.status, 0) << output.text;
    std::vector<Json> results;
    std::ifstream in(dir_.file("out"));
    for (std::string line; std::getline(in, line);) results.push_back(Json::parse(line));
    return results;
  }
  TempDir dir_;
};

TEST_F(TokenizerFile, OptionsAreStoredBesideTheVocabulary) {
  EXPECT_EQ(tokenizer_config_path("x/vocab.txt"), "x/tokenizer_config.json");
  EXPECT_EQ(tokenizer_config_path("vocab.txt"), "tokenizer_config.json");
  EXPECT_EQ(tokenizer_config_path("gs://b/law.txt"), "gs://b/law.tokenizer_config.json");
  EXPECT_EQ(load_tokenizer_config(vocab()), std::nullopt);
  for (const TokenizerOptions& options :
       {TokenizerOptions{.lower_case = false}, TokenizerOptions{.strip_accents = false},
        TokenizerOptions{.control = ControlCharacters::electra, .split_chinese = false}}) {
    save_tokenizer_config(vocab(), options);
    EXPECT_EQ(load_tokenizer_config(vocab()), options);
    EXPECT_EQ(BertTokenizer::load(vocab(), {}).options(), options);
  }
  EXPECT_EQ(BertTokenizer::load(vocab("other.txt"), {}).options(), TokenizerOptions{});
}

TEST_F(TokenizerFile, HuggingFacesOwnConfigIsUnderstood) {
  file("tokenizer_config.json",
       R"({"do_lower_case": false, "strip_accents": null, "tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ(BertTokenizer::load(vocab(), {}).tokenize("A É"), (Words{"A", "[UNK]"}));
  file("tokenizer_config.json",
       R"({"tokenizer_class": "ElectraTokenizerFast", "strip_accents": false})");
  EXPECT_EQ(BertTokenizer::load(vocab(), {}).options(),
            (TokenizerOptions{.strip_accents = false, .control = ControlCharacters::electra}));
}

TEST_F(TokenizerFile, FlagsSayWhatIsNotStored) {
  const BertTokenizer tokenizer = BertTokenizer::load(
      vocab(), {.lower_case = true, .strip_accents = false, .control = ControlCharacters::electra});
  EXPECT_EQ(tokenizer.tokenize("A\ue000 É"), (Words{"a", "é"}));
}

TEST_F(TokenizerFile, WhatNobodySaysIsAsTheVocabularyIs) {
  const auto of = [&] { return as_vocabulary_is({}, vocab(), ControlCharacters::electra); };
  EXPECT_EQ(of(), (TokenizerFlags{.lower_case = false, .control = ControlCharacters::electra}));
  EXPECT_EQ(as_vocabulary_is({.lower_case = true}, vocab(), {}).lower_case, true);
  EXPECT_EQ(as_vocabulary_is({}, file("lower.txt", "[UNK]\na\n"), {}).lower_case, true);
  file("tokenizer_config.json", R"({"do_lower_case": true})");
  EXPECT_EQ(of(), TokenizerFlags{}) << "the file says it";
}

TEST_F(TokenizerFile, AFlagThatContradictsWhatIsStoredIsRefused) {
  save_tokenizer_config(vocab(), {.lower_case = false});
  EXPECT_NO_THROW(BertTokenizer::load(vocab(), {.lower_case = false, .strip_accents = false}));
  EXPECT_THAT(
      usage_error([&] { BertTokenizer::load(vocab(), {.lower_case = true}); }),
      AllOf(HasSubstr("--lower-case: true, but "), HasSubstr("tokenizer_config.json says false"),
            HasSubstr("hint: set --lower-case to false, or use")));
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(vocab(), {.strip_accents = true}); }),
              HasSubstr("--strip-accents: true, but "));
  EXPECT_THAT(
      usage_error([&] { BertTokenizer::load(vocab(), {.control = ControlCharacters::electra}); }),
      AllOf(HasSubstr("--control-characters: electra, but "), HasSubstr("says bert")));
}

TEST_F(TokenizerFile, AConfigInAnotherFormIsRefused) {
  const auto refusal = [&](const std::string& config) {
    file("tokenizer_config.json", config);
    return usage_error([&] { BertTokenizer::load(vocab(), {}); });
  };
  EXPECT_THAT(refusal("[1]"), HasSubstr("tokenizer_config.json: is not a JSON object"));
  EXPECT_THAT(refusal("{"), HasSubstr("tokenizer_config.json: is not a JSON object"));
  EXPECT_THAT(refusal(R"({"do_lower_case": "yes"})"),
              HasSubstr("do_lower_case is \"yes\", not true or false"));
  EXPECT_THAT(refusal(R"({"control_characters": 3})"),
              HasSubstr("control_characters is 3, not \"bert\" or \"electra\""));
}

TEST_F(TokenizerFile, TokenizerJsonComesBackAsItWasWritten) {
  const Vocabulary vocabulary({"[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "__b", "é"}, "x", "__");
  const TokenizerOptions options{.lower_case = false,
                                 .strip_accents = true,
                                 .control = ControlCharacters::electra,
                                 .split_chinese = false,
                                 .max_characters_per_word = 3};
  const std::string path = file("tokenizer.json", tokenizer_json(vocabulary, options));
  const BertTokenizer tokenizer = BertTokenizer::load(path, {});
  EXPECT_EQ(tokenizer.vocabulary().tokens(), vocabulary.tokens());
  EXPECT_EQ(Vocabulary::load(path).tokens(), vocabulary.tokens());
  EXPECT_EQ(tokenizer.options(), options);
  EXPECT_EQ(tokenizer.tokenize("abb abbb"), (Words{"a", "__b", "__b", "[UNK]"}));
  EXPECT_EQ(tokenizer.decode(Ids{4, 5, 5, 6}), "abb é");
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(path, {.lower_case = true}); }),
              HasSubstr("--lower-case: true, but " + path + " says false"));
}

TEST_F(TokenizerFile, APieceContinuesAWordByThePrefixOfItsVocabulary) {
  const Vocabulary plain({"[UNK]", "[CLS]", "[SEP]", "a", "##b", "__b"});
  EXPECT_TRUE(plain.continues_word(4));
  EXPECT_FALSE(plain.continues_word(3));
  EXPECT_FALSE(plain.continues_word(5));
  const Vocabulary other(plain.tokens(), "x", "__");
  const std::string path = file("tokenizer.json", tokenizer_json(other, {}));
  const auto tokenizer = load_tokenizer(path, {});
  for (const std::int32_t id : {0, 1, 2, 3, 4, 5}) {
    EXPECT_EQ(Vocabulary::load(path).continues_word(id), id == 5) << id;
    EXPECT_EQ(tokenizer->continues_word(id), id == 5) << id;
    EXPECT_FALSE(Vocabulary(plain.tokens(), "x", "").continues_word(id)) << id;
  }
  EXPECT_THAT(usage_error([&] { Vocabulary::load(path).save(dir_.file("v.txt")); }),
              HasSubstr("v.txt: a vocab.txt's pieces continue words by '##', those of " + path +
                        " by '__'\n  hint: write a tokenizer.json"));
}

TEST_F(TokenizerFile, ATokenizerJsonOfAnotherKindIsRefused) {
  const Json good = Json::parse(tokenizer_json(Vocabulary({"[UNK]", "[CLS]", "[SEP]"}), {}));
  const auto refusal = [&](const char* pointer, const Json& value) {
    Json changed = good;
    changed.set(pointer, value);
    return usage_error([&] { BertTokenizer::load(file("t.json", changed.dump()), {}); });
  };
  EXPECT_EQ(refusal("/version", "2"), "no UsageError");
  EXPECT_THAT(refusal("/model/type", "BPE"),
              HasSubstr("t.json: model.type is \"BPE\", not \"WordPiece\""));
  EXPECT_THAT(refusal("/model/unk_token", "<unk>"),
              HasSubstr("model.unk_token is \"<unk>\", not \"[UNK]\""));
  EXPECT_THAT(refusal("/normalizer", nullptr),
              HasSubstr("normalizer.type is missing, not \"BertNormalizer\""));
  EXPECT_THAT(refusal("/normalizer/clean_text", false),
              HasSubstr("normalizer.clean_text is false"));
  EXPECT_THAT(refusal("/normalizer/lowercase", 3), HasSubstr("normalizer.lowercase is 3"));
  EXPECT_THAT(refusal("/model/max_input_chars_per_word", 0),
              HasSubstr("max_input_chars_per_word is 0, not at least 1"));
  EXPECT_THAT(refusal("/pre_tokenizer/type", "Whitespace"),
              HasSubstr("pre_tokenizer.type is \"Whitespace\""));
  EXPECT_THAT(refusal("/model/vocab", 7), HasSubstr("model.vocab is 7"));
  EXPECT_THAT(refusal("/model/vocab/a", 9), HasSubstr("'a' has id 9, but no token has id 3"));
  EXPECT_THAT(refusal("/model/vocab/a", 2), AllOf(HasSubstr("id 2 is both '"), HasSubstr("'a'")));
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(file("t.json", "{}"), {}); }),
              HasSubstr("model.type is missing"));
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(file("t.json", "nonsense"), {}); }),
              HasSubstr("t.json: is not a JSON object"));
}

TEST_F(TokenizerFile, BrokenFilesAreReadOrRefused) {
  const std::string good =
      tokenizer_json(Vocabulary({"[UNK]", "[CLS]", "[SEP]", "a"}), {.strip_accents = true});
  const std::string config =
      R"({"do_lower_case": false, "strip_accents": null, "tokenizer_class": "Bert"})";
  Draw draw(1);
  const auto broken = [&](std::string text) {
    for (std::uint64_t changes = 1 + draw.below(3); changes > 0; --changes) {
      const std::size_t at = draw.below(text.size());
      if (draw.below(2) == 0)
        text[at] = "{}[],:\"0n\xff-e"[draw.below(12)];
      else
        text.erase(at, draw.below(20));
    }
    return text;
  };
  const auto is_read = [](const auto& read) {
    try {
      read();
      return true;
    } catch (const UsageError&) {
      return false;
    }
  };
  int models = 0, configs = 0;
  for (int i = 0; i < 5000; ++i)
    models += is_read([&] { parse_tokenizer_json(broken(good), "t.json"); }) ? 1 : 0;
  for (int i = 0; i < 300; ++i) {
    file("tokenizer_config.json", broken(config));
    configs += is_read([&] { load_tokenizer_config(dir_.file("vocab.txt")); }) ? 1 : 0;
  }
  EXPECT_THAT(models, testing::AllOf(testing::Gt(0), testing::Lt(5000)));
  EXPECT_THAT(configs, testing::AllOf(testing::Gt(0), testing::Lt(300)));
}

TEST_F(TokenizerFile, OffsetsAreTheBytesThatAPieceCameFrom) {
  const BertTokenizer tokenizer(
      Vocabulary({"[UNK]", "un", "##aff", "##able", "e", "##e", "\u1112", "##\u1161", "!"}), {});
  const auto spans = [&](const char* text) { return tokenizer.encode_with_offsets(text); };
  EXPECT_EQ(spans(" UnAffable!"),
            (std::vector<TokenSpan>{{1, 1, 3}, {2, 3, 6}, {3, 6, 10}, {8, 10, 11}}));
  EXPECT_EQ(spans("\u00c9\u00e9"), (std::vector<TokenSpan>{{4, 0, 2}, {5, 2, 4}}));
  EXPECT_EQ(spans("e\u0301\u0301e x"), (std::vector<TokenSpan>{{4, 0, 1}, {5, 5, 6}, {0, 7, 8}}));
  EXPECT_EQ(spans("\ud558"),
            (std::vector<TokenSpan>{{6, 0, 3}, {7, 0, 3}}));  // a syllable of two letters
  EXPECT_EQ(spans("unx\xff y"), (std::vector<TokenSpan>{{0, 0, 3}, {0, 5, 6}}));
}

TEST_F(TokenizerFile, OffsetsGoWithTheIdsInAllScripts) {
  const ScriptTexts scripts;
  const BertTokenizer tokenizer(Vocabulary(scripts.golden()["vocab"].get<Words>()), {});
  for (const std::string& name : scripts.names())
    for (const std::string& text : scripts.lines(name, 5, 20'000)) {
      Ids ids;
      std::size_t before = 0;
      for (const TokenSpan& span : tokenizer.encode_with_offsets(text)) {
        ids.push_back(span.id);
        ASSERT_LE(before, span.begin) << text;
        ASSERT_LT(span.begin, span.end) << text;
        ASSERT_LE(span.end, text.size()) << text;
        before = span.begin;
      }
      ASSERT_EQ(ids, tokenizer.encode(text)) << text;
    }
}

TEST_F(TokenizerFile, IdsThatAreNoneAreNotDecoded) {
  const BertTokenizer tokenizer = BertTokenizer::load(vocab(), {});
  EXPECT_THAT(usage_error([&] { tokenizer.decode(Ids{1, 5}); }),
              HasSubstr("vocab.txt: has 5 pieces, none of id 5"));
  EXPECT_THAT(usage_error([&] { tokenizer.decode(Ids{-1}); }), HasSubstr("none of id -1"));
}

TEST_F(TokenizerFile, HuggingFaceGivesTheSameIdsWithTheTokenizerJsonThatIsWrittenAndRead) {
  REQUIRE_ORACLE();
  const ScriptTexts scripts;
  const Vocabulary vocabulary(scripts.golden()["vocab"].get<Words>());
  vocabulary.save(dir_.file("vocab.txt"));
  Words texts;
  for (const std::string& name : scripts.names())
    for (const std::string& text : scripts.lines(name, 6, 60'000))
      if (is_alike_to_hugging_face(text)) texts.push_back(text);
  const TokenizerOptions options{.control = ControlCharacters::electra};
  const auto written = oracle("hugging_face_ids.py",
                              file("tokenizer.json", tokenizer_json(vocabulary, options)), texts);
  const auto read = oracle("hugging_face_ids.py", dir_.file("vocab.txt"), texts);
  const BertTokenizer with_written = BertTokenizer::load(dir_.file("tokenizer.json"), {});
  const BertTokenizer with_read = BertTokenizer::load(dir_.file("out.tokenizer.json"), {});
  EXPECT_EQ(with_read.options().max_characters_per_word, 100u);
  ASSERT_EQ(written.size(), texts.size() + 1);
  ASSERT_EQ(read.size(), texts.size() + 1);
  const std::int32_t cls = vocabulary.id("[CLS]"), sep = vocabulary.id("[SEP]"),
                     a = vocabulary.id("a"), b = vocabulary.id("b");
  EXPECT_EQ(written[0]["ids"], Json({cls, a, sep, b, sep}));
  EXPECT_EQ(written[0]["types"], Json({0, 0, 0, 1, 1}));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(Json(with_written.encode(texts[i])), written[i + 1]["ids"])
        << testing::PrintToString(texts[i]);
    ASSERT_EQ(Json(with_read.encode(texts[i])), read[i + 1]["ids"])
        << testing::PrintToString(texts[i]);
    Json offsets = Json::array();
    for (const TokenSpan& span : in_characters(texts[i], with_read.encode_with_offsets(texts[i])))
      offsets.push_back({span.begin, span.end});
    ASSERT_EQ(offsets, read[i + 1]["offsets"]) << testing::PrintToString(texts[i]);
  }
}

TEST_F(TokenizerFile, SentencePieceModelsGiveTheIdsOfGooglesPackage) {
  REQUIRE_ORACLE();
  const ScriptTexts scripts;
  Words texts;
  for (const char* name : {"latin", "cyrillic", "japanese"})
    std::ranges::copy(scripts.lines(name, 8, 30'000), std::back_inserter(texts));
  for (const char* kind : {"unigram", "bpe"}) {
    const auto expected = oracle("sentencepiece_ids.py", kind, texts);
    ASSERT_EQ(expected.size(), texts.size());
    const auto tokenizer = load_tokenizer(dir_.file("out.model"), {});
    EXPECT_EQ(tokenizer->size(), 1500);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Json ids, offsets;
      for (const TokenSpan& span : tokenizer->encode_with_offsets(texts[i])) {
        if (span.id != tokenizer->unknown()) {
          ASSERT_EQ(tokenizer->token(span.id), expected[i]["pieces"][ids.size()]);
        }
        ids.push_back(span.id);
        offsets.push_back({span.begin, span.end});
      }
      ASSERT_EQ(ids, expected[i]["ids"]) << texts[i];
      ASSERT_EQ(offsets, expected[i]["offsets"]) << texts[i];
      Ids encoded;
      tokenizer->encode(texts[i], encoded);
      ASSERT_EQ(Json(encoded), expected[i]["ids"]) << texts[i];
      ASSERT_EQ(tokenizer->decode(encoded), expected[i]["text"]) << texts[i];
    }
  }
}

TEST_F(TokenizerFile, ASentencePieceModelGivesBackWhatItEncoded) {
  file("text", "der Hund und die Katze und der Vogel\nein Hund\neine Katze\n");
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"input", dir_.file("text")},
                                                                  {"model_prefix", dir_.file("m")},
                                                                  {"vocab_size", "20"},
                                                                  {"minloglevel", "2"}});
  ASSERT_TRUE(status.ok()) << status.message();
  const auto tokenizer = load_tokenizer(dir_.file("m.model"), {});
  Ids ids{5};
  tokenizer->encode("der Vogel und eine Katze", ids);
  EXPECT_EQ(ids.front(), 5);
  EXPECT_EQ(tokenizer->decode(std::span(ids).subspan(1)), "der Vogel und eine Katze");
  for (const std::int32_t id : std::span(ids).subspan(1))
    EXPECT_EQ(tokenizer->continues_word(id), !tokenizer->token(id).starts_with("▁")) << id;
  EXPECT_FALSE(tokenizer->continues_word(tokenizer->unknown()));
  ids.clear();
  tokenizer->encode("xQx", ids);
  EXPECT_NE(std::ranges::find(ids, tokenizer->unknown()), ids.end());
  EXPECT_THAT(usage_error([&] { tokenizer->decode(Ids{20}); }),
              HasSubstr("m.model: has 20 pieces, none of id 20"));
  EXPECT_THAT(usage_error([&] { load_tokenizer(dir_.file("m.model"), {.lower_case = true}); }),
              HasSubstr("m.model: a SentencePiece model has its own normalisation"));
}

TEST_F(TokenizerFile, WhatIsNoSentencePieceModelIsRefused) {
  EXPECT_THAT(usage_error([&] { load_tokenizer(file("x.model", "no model"), {}); }),
              HasSubstr("x.model: is no SentencePiece model of 8 bytes"));
  EXPECT_THAT(usage_error([&] { load_tokenizer(file("x.model", ""), {}); }),
              HasSubstr("x.model: is no SentencePiece"));
  EXPECT_THAT(usage_error([&] { load_tokenizer(dir_.file("none.model"), {}); }),
              HasSubstr("none.model"));
}

}  // namespace
}  // namespace smelt
