// Loading tokenizers from files: the options of a vocabulary, tokenizer.json and SentencePiece
// models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/captured_log.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/script_texts.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/unknown_count.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
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

// Hugging Face's lower case has no final sigma, and its Unicode tables are older.
bool is_alike_to_hugging_face(const std::string& text) {
  return std::ranges::all_of(to_code_points(text),
                             [](char32_t c) { return c != U'Σ' && known_to_unicode(8, c); });
}

class TokenizerFile : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    io::write_file(dir_.file(name), content);
    return dir_.file(name);
  }
  std::string vocab(const std::string& name = "vocab.txt") {
    return file(name, "[UNK]\na\nA\n##b\né\n");
  }
  // Runs a script of tests/text/tokenizers on the texts and returns the lines of JSON that it
  // writes to `out`.
  std::vector<Json> oracle(const std::string& script, const std::string& argument,
                           const Words& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += Json(text).dump() + "\n";
    const CommandOutput output =
        run_oracle(str(source_path("tests/text/tokenizers/" + script), " ", argument, " ",
                       file("texts.jsonl", lines), " ", dir_.file("out")));
    EXPECT_EQ(output.status, 0) << output.text;
    std::vector<Json> results;
    std::ifstream in(dir_.file("out"));
    for (std::string line; std::getline(in, line);) results.push_back(Json::parse(line));
    return results;
  }
  TempDir dir_;
};

TEST_F(TokenizerFile, StoresOptionsBesideTheVocabulary) {
  EXPECT_EQ(tokenizer_config_path("x/vocab.txt"), "x/tokenizer_config.json");
  EXPECT_EQ(tokenizer_config_path("vocab.txt"), "tokenizer_config.json");
  EXPECT_EQ(tokenizer_config_path("gs://b/law.txt"), "gs://b/law.tokenizer_config.json");
  EXPECT_EQ(load_tokenizer_config(vocab()), std::nullopt);
  for (const TokenizerOptions& options :
       {TokenizerOptions{.lower_case = false}, TokenizerOptions{.strip_accents = false},
        TokenizerOptions{.control = ControlCharacters::electra, .split_chinese = false},
        TokenizerOptions{.nfc = true, .zero_width_space = true, .turkic_case = true},
        new_vocabulary_options({}, "", "")}) {
    save_tokenizer_config(vocab(), options);
    EXPECT_EQ(load_tokenizer_config(vocab()), options);
    EXPECT_EQ(BertTokenizer::load(vocab(), {}).options(), options);
  }
  EXPECT_EQ(BertTokenizer::load(vocab("other.txt"), {}).options(),
            TokenizerOptions{.lower_case = false})
      << "its pieces are cased";
}

TEST_F(TokenizerFile, ReadsAHuggingFaceTokenizerConfig) {
  file("tokenizer_config.json",
       R"({"do_lower_case": false, "strip_accents": null, "tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ(BertTokenizer::load(vocab(), {}).tokenize("A É"), (Words{"A", "[UNK]"}));
  file("tokenizer_config.json",
       R"({"tokenizer_class": "ElectraTokenizerFast", "strip_accents": false})");
  EXPECT_EQ(BertTokenizer::load(vocab(), {}).options(),
            (TokenizerOptions{.strip_accents = false, .control = ControlCharacters::electra}));
}

TEST_F(TokenizerFile, FlagsSetOptionsThatAreNotStored) {
  const BertTokenizer tokenizer = BertTokenizer::load(
      vocab(), {.lower_case = true, .strip_accents = false, .control = ControlCharacters::electra});
  EXPECT_EQ(tokenizer.tokenize("A\ue000 É"), (Words{"a", "é"}));
}

TEST_F(TokenizerFile, DefaultsDependOnTheVocabulary) {
  const auto of = [&] { return with_vocabulary_options({}, vocab(), ControlCharacters::electra); };
  EXPECT_EQ(of(), (TokenizerFlags{.lower_case = false, .control = ControlCharacters::electra}));
  EXPECT_EQ(with_vocabulary_options({.lower_case = true}, vocab(), {}).lower_case, true);
  EXPECT_EQ(with_vocabulary_options({}, file("lower.txt", "[UNK]\na\n"), {}).lower_case, true);
  file("tokenizer_config.json", R"({"do_lower_case": true})");
  EXPECT_EQ(of(), TokenizerFlags{}) << "the file says it";
}

TEST_F(TokenizerFile, InfersTheCaseFromThePieces) {
  const auto flags = [&](const std::string& pieces, std::optional<ControlCharacters> of = {}) {
    return with_vocabulary_options({}, file("case.txt", "[UNK]\n[CLS]\n" + pieces), of);
  };
  const TokenizerFlags lower{.lower_case = true}, cased{.lower_case = false};
  EXPECT_EQ(flags("a\n##b\ne\n\u0438\n\u4e2d\n-\n"), lower);
  EXPECT_EQ(flags("a\nB\n"), cased);
  EXPECT_EQ(flags("\u043c\n\u041c\n"), cased) << "a Cyrillic capital";
  EXPECT_EQ(flags("\u00e9\nE\n"), cased);
  EXPECT_EQ(flags("\ud55c\n##\uad6d\na\n"), cased) << "Hangul, which NFD takes apart";
  EXPECT_EQ(flags("\u304c\n"), cased) << "voiced kana";
  EXPECT_EQ(flags("\u0439\n"), cased);
  EXPECT_EQ(
      flags("\u0439\n", ControlCharacters::electra),
      (TokenizerFlags{
          .lower_case = true, .strip_accents = false, .control = ControlCharacters::electra}));
  const BertTokenizer korean =
      BertTokenizer::load(file("ko.txt", "[UNK]\n\ud55c\n##\uad6d\nA\n"), {});
  EXPECT_EQ(korean.tokenize("\ud55c\uad6d A"), (Words{"\ud55c", "##\uad6d", "A"}));
}

TEST_F(TokenizerFile, WarnsIfMoreThanOneTokenInAHundredIsUnknown) {
  const auto log_of = [](const UnknownCount& count) {
    const CapturedLog log;
    count.warn("x.txt", "vocab.txt");
    return log.text();
  };
  UnknownCount count;
  count.add(Ids{0, 1, 2, 1}, 1);
  EXPECT_EQ(count.unknown, 2u);
  EXPECT_THAT(log_of(count), HasSubstr("x.txt: 50.0 % of the tokens are unknown ([UNK]): vocab.txt "
                                       "does not have their pieces"));
  EXPECT_EQ(log_of({.unknown = 5, .tokens = 500}), "");
  EXPECT_THAT(log_of({.unknown = 6, .tokens = 500}), HasSubstr("1.2 % of the tokens"));
  EXPECT_EQ(log_of({.unknown = 1, .tokens = 9}), "");
  EXPECT_EQ(log_of({}), "");
}

TEST_F(TokenizerFile, UnknownWarningNamesTheCharactersWithoutAPiece) {
  const BertTokenizer tokenizer(Vocabulary({"[UNK]", "a", "##b"}), {.lower_case = false});
  UnknownCount count;
  for (const char* text : {"a ab ax", "axy\u0301 x", "a", "ba"})  // ##b is a piece
    count.add(text, tokenizer.encode(text), tokenizer);
  EXPECT_EQ(count.tokens, 8u);
  EXPECT_EQ(count.unknown, 4u);
  const CapturedLog log;
  count.warn("x.txt", "vocab.txt");
  EXPECT_THAT(log.text(), HasSubstr("vocab.txt does not have their pieces; characters without a "
                                    "piece: x (3), y (1), \u0301 (1)\n"));
}

TEST_F(TokenizerFile, CharactersOfUnknownWordsDoNotCountAsKnown) {
  const BertTokenizer tokenizer(Vocabulary({"[UNK]", "a", "##b"}), {.lower_case = false});
  CharacterCounts characters;
  const std::string_view text = "ab xyz a";
  const TextCount count = count_text(text, tokenizer.encode(text), tokenizer, characters);
  EXPECT_EQ(count.unknown_tokens, 1u);
  EXPECT_EQ(count.known_characters, 5u);
}

TEST_F(TokenizerFile, UnknownWarningNamesComposedCharactersIfTheTokenizerComposes) {
  const BertTokenizer tokenizer(Vocabulary({"[UNK]", "c", "##e", "##i"}),
                                new_vocabulary_options({.lower_case = true}, "", ""));
  UnknownCount count;
  for (const char* text : {"cie\u0301", "CIE\u0301", "e"})
    count.add(text, tokenizer.encode(text), tokenizer);
  EXPECT_EQ(count.unknown, 3u);
  EXPECT_EQ(count.characters, (CharacterCounts{{U'\u00e9', 1}, {U'\u00c9', 1}}));
}

TEST_F(TokenizerFile, UnknownWarningOfASentencePieceModelSuggestsCoverage) {
  const CapturedLog log;
  UnknownCount{.unknown = 6, .tokens = 100}.warn("x.txt", "x.model");
  EXPECT_THAT(log.text(), HasSubstr("6.0 % of the tokens are unknown (<unk>): x.model"));
  EXPECT_THAT(log.text(), HasSubstr("with a higher --coverage (vocab.coverage) or with "
                                    "--byte-fallback (vocab.byte_fallback)"));
  EXPECT_THAT(log.text(), Not(HasSubstr("--cased")));
}

TEST_F(TokenizerFile, RejectsUnsupportedTokenizerClasses) {
  const auto refusal = [&](const std::string& config) {
    file("tokenizer_config.json", config);
    return usage_error([&] { BertTokenizer::load(vocab(), {}); });
  };
  EXPECT_THAT(
      refusal(R"({"tokenizer_class": "BertJapaneseTokenizer"})"),
      AllOf(HasSubstr("tokenizer_config.json: tokenizer_class is \"BertJapaneseTokenizer\""),
            HasSubstr("hint: use a model whose tokenizer")));
  EXPECT_THAT(refusal(R"({"tokenizer_class": "KoBertTokenizer"})"), HasSubstr("KoBertTokenizer"));
  EXPECT_THAT(refusal(R"({"tokenizer_class": "PreTrainedTokenizerFast"})"),
              HasSubstr("PreTrainedTokenizerFast"))
      << "there is no tokenizer.json";
  for (const char* field :
       {R"("word_tokenizer_type": "mecab")", R"("subword_tokenizer_type": "character")",
        R"("do_basic_tokenize": false)", R"("never_split": ["aB"])", R"("unk_token": "<unk>")",
        R"("mask_token": {"content": "<mask>"})", R"("auto_map": {"AutoTokenizer": ["x"]})",
        R"("split_special_tokens": true)"}) {
    const std::string name(
        std::string_view(field).substr(1, std::string_view(field).find(':') - 2));
    EXPECT_THAT(refusal(str("{", field, "}")),
                HasSubstr("tokenizer_config.json: " + name + " is "));
  }
  EXPECT_EQ(refusal(R"({"word_tokenizer_type": "basic", "subword_tokenizer_type": "wordpiece",
                        "do_basic_tokenize": true, "never_split": null, "mask_token": "[MASK]",
                        "tokenizer_class": "DistilBertTokenizerFast"})"),
            "no UsageError");
  io::remove_file(dir_.file("tokenizer_config.json"));
  file("config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(vocab(), {}); }),
              HasSubstr("/config.json: tokenizer_class is \"BertJapaneseTokenizer\""));
}

TEST_F(TokenizerFile, DoesNotSplitAddedTokens) {
  const std::string path = file("vocab.txt", "[UNK]\n[CLS]\nthe\ncovid\n##s\ns\n");
  file("tokenizer_config.json", R"({"do_lower_case": true, "additional_special_tokens": ["<ent>"],
    "added_tokens_decoder": {
      "1": {"content": "[CLS]", "special": true},
      "6": {"content": "Zz", "single_word": true},
      "7": {"content": "QX", "normalized": false, "lstrip": true}}})");
  file("added_tokens.json", R"({"new york": 8, "Zz": 6})");
  const BertTokenizer tokenizer = BertTokenizer::load(path, {});
  EXPECT_EQ(tokenizer.size(), 10);
  EXPECT_EQ(tokenizer.token(9), "<ent>");
  EXPECT_EQ(Vocabulary::load(path).tokens(), tokenizer.vocabulary().tokens());
  EXPECT_EQ(tokenizer.encode("the ZZ<ent>covids"), (Ids{2, 6, 9, 3, 4}));
  EXPECT_EQ(tokenizer.encode("zzs [CLS]"), (Ids{0, 0, 0, 0})) << "[CLS] in a text is text";
  EXPECT_EQ(tokenizer.encode("qx theQXs"), (Ids{0, 2, 7, 5}));
  EXPECT_EQ(tokenizer.encode("NEW  york new York"), (Ids{0, 0, 8}));
  const auto spans = tokenizer.encode_with_offsets("The  QX New York");
  EXPECT_EQ(spans, (std::vector<TokenSpan>{{2, 0, 3}, {7, 3, 7}, {8, 8, 16}}));
  EXPECT_EQ(Vocabulary::load(path).text(), io::read_file(path)) << "added tokens are no lines";
}

TEST_F(TokenizerFile, AddedTokensRoundTrip) {
  const std::vector<AddedToken> added{
      {.id = 4, .content = "<ent>", .normalized = false, .special = true},
      {.id = 5, .content = "Zz", .single_word = true, .lstrip = true, .rstrip = true}};
  const TokenizerOptions options{.max_characters_per_word = 50, .added = added};
  const BertTokenizer made(Vocabulary({"[UNK]", "[CLS]", "[SEP]", "the"}, "x", "##", added),
                           options);
  for (const char* name : {"vocab.txt", "other.json"}) {
    made.save(dir_.file(name));
    const BertTokenizer read = BertTokenizer::load(dir_.file(name), {});
    EXPECT_EQ(read.options().added, added) << name;
    EXPECT_EQ(read.options().max_characters_per_word, 50u) << name;
    EXPECT_EQ(read.encode("the <ent> zz thezz"), (Ids{3, 4, 5, 0})) << name;
  }
  const std::string other = file("vocab.txt", "[UNK]\na\nb\nc\nd\n");
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(other, {}); }),
              HasSubstr("vocab.txt: id 4 is 'd', but also the added token '<ent>'"));
}

TEST_F(TokenizerFile, ReportsAGitLfsPointer) {
  const char* pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:01\nsize 9\n";
  for (const char* name : {"vocab.txt", "tokenizer.json", "spiece.model"}) {
    const std::string path = file(name, pointer);
    EXPECT_THAT(usage_error([&] { load_tokenizer(path, {}); }),
                HasSubstr(str(name, ": is a Git LFS pointer, not the file itself")));
    std::filesystem::remove(path);
  }
  const std::string path = file("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  file("tokenizer_config.json", pointer);
  EXPECT_THAT(usage_error([&] { load_tokenizer(path, {}); }),
              HasSubstr("tokenizer_config.json: is a Git LFS pointer"));
}

TEST_F(TokenizerFile, NamesAnotherTokenizersClassBeforeItsSpecialTokens) {
  const std::string path = file("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  file("tokenizer_config.json", R"({"tokenizer_class": "PhobertTokenizer"})");
  file("config.json", "{}");
  file("special_tokens_map.json", R"({"pad_token": "<pad>"})");
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(path, {}); }),
              HasSubstr("tokenizer_class is \"PhobertTokenizer\", whose rules are not those of"));
}

TEST_F(TokenizerFile, WarnsOfAVocabJsonOfAnotherClass) {
  file("merges.txt", "");
  const std::string path = file("vocab.json", R"({"a": 0, "b": 1})");
  const CapturedLog log;
  load_subword_file(path);
  EXPECT_EQ(log.text(), "");
  file("tokenizer_config.json", R"({"tokenizer_class": "Qwen2TokenizerFast"})");
  load_subword_file(path);
  EXPECT_THAT(log.text(), HasSubstr("vocab.json: is read as GPT-2's, but tokenizer_class is "
                                    "Qwen2Tokenizer, which may give other ids"));
}

TEST_F(TokenizerFile, ConfigOverridesTokenizerJsonLikeTransformers) {
  const Vocabulary vocabulary({"[UNK]", "[CLS]", "[SEP]", "a", "A"});
  const std::string path =
      file("tokenizer.json", tokenizer_json(vocabulary, {.lower_case = false}));
  EXPECT_EQ(BertTokenizer::load(path, {}).encode("A"), (Ids{4}));
  file("tokenizer_config.json", R"({"do_lower_case": true, "tokenizer_class": "BertTokenizer",
                                    "additional_special_tokens": ["<x>"]})");
  EXPECT_EQ(BertTokenizer::load(path, {}).encode("A<x>"), (Ids{3, 5}));
  EXPECT_EQ(wordpiece_file_in(io::parent_path(path)), path);
  file("tokenizer_config.json",
       R"({"do_lower_case": true, "tokenizer_class": "TokenizersBackend"})");
  EXPECT_EQ(BertTokenizer::load(path, {}).encode("A"), (Ids{4}));
  file("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(path, {}); }), HasSubstr("T5Tokenizer"));
}

TEST_F(TokenizerFile, ConfigWithoutNormalizationFieldsKeepsThatOfTokenizerJson) {
  const TokenizerOptions options{.nfc = true, .zero_width_space = true, .turkic_case = true};
  const Vocabulary vocabulary({"[UNK]", "[CLS]", "[SEP]", "a"});
  file("tokenizer.json", tokenizer_json(vocabulary, options));
  file("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  file("vocab.txt", vocabulary.text());
  for (const char* name : {"tokenizer.json", "vocab.txt"}) {
    const TokenizerOptions read = BertTokenizer::load(dir_.file(name), {}).options();
    EXPECT_TRUE(read.nfc && read.zero_width_space && read.turkic_case) << name;
  }
  file("tokenizer_config.json", R"({"zero_width_space": false, "turkic_case": false})");
  const TokenizerOptions read = BertTokenizer::load(dir_.file("vocab.txt"), {}).options();
  EXPECT_TRUE(read.nfc && !read.zero_width_space && !read.turkic_case);
}

TEST_F(TokenizerFile, ReadsAddedTokensOfATokenizerJsonBesideVocabTxt) {
  const Vocabulary vocabulary({"[UNK]", "[CLS]", "[SEP]", "a"});
  const TokenizerOptions options{.added = {{.id = 4, .content = "<x>"}}};
  file("tokenizer.json",
       tokenizer_json(Vocabulary(vocabulary.tokens(), "x", "##", options.added), options));
  const std::string path = file("vocab.txt", vocabulary.text());
  EXPECT_EQ(BertTokenizer::load(path, {}).encode("a<x>"), (Ids{3, 4}));
  file("tokenizer.json", R"({"model": {"type": "BPE"}})");
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(path, {}); }),
              HasSubstr("tokenizer.json: model.type is \"BPE\""));
}

TEST_F(TokenizerFile, MatchesTransformersForUnusualVocabularies) {
  REQUIRE_ORACLE();
  const CommandOutput output =
      run_oracle(str(source_path("tests/text/tokenizers/odd_vocabularies.py"), " ", dir_.path()));
  ASSERT_EQ(output.status, 0) << output.text;
  std::ifstream in(dir_.file("expected.jsonl"));
  std::map<std::string, std::unique_ptr<BertTokenizer>> tokenizers;
  std::size_t cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    const Json expected = Json::parse(line);
    const std::string path = dir_.file(
        str(expected["case"].get<std::string>(), "/", expected["vocab"].get<std::string>()));
    auto& tokenizer = tokenizers[path];
    if (!tokenizer) tokenizer = std::make_unique<BertTokenizer>(BertTokenizer::load(path, {}));
    EXPECT_EQ(Json(tokenizer->encode(expected["text"].get<std::string>())), expected["ids"])
        << line;
  }
  EXPECT_GT(cases, 300u);
}

TEST_F(TokenizerFile, RejectsAFlagThatContradictsStoredOptions) {
  save_tokenizer_config(vocab(), {.lower_case = false});
  EXPECT_NO_THROW(BertTokenizer::load(vocab(), {.lower_case = false, .strip_accents = false}));
  EXPECT_THAT(
      usage_error([&] { BertTokenizer::load(vocab(), {.lower_case = true}); }),
      AllOf(HasSubstr("--lower-case: true, but "), HasSubstr("tokenizer_config.json has false"),
            HasSubstr("hint: set --lower-case to false, or use")));
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(vocab(), {.strip_accents = true}); }),
              HasSubstr("--strip-accents: true, but "));
  EXPECT_THAT(
      usage_error([&] { BertTokenizer::load(vocab(), {.control = ControlCharacters::electra}); }),
      AllOf(HasSubstr("--control-characters: electra, but "), HasSubstr("has bert")));
}

TEST_F(TokenizerFile, SpecialTokensMapDoesNotSetTheCase) {
  file("special_tokens_map.json", R"({"mask_token": {"content": "[MASK]", "lstrip": true}})");
  EXPECT_EQ(load_tokenizer_config(vocab()), std::nullopt);
  const auto refusal = [&](const std::string& map) {
    file("special_tokens_map.json", map);
    return usage_error([&] { load_tokenizer_config(vocab()); });
  };
  EXPECT_THAT(refusal(R"({"mask_token": "<mask>"})"),
              HasSubstr("special_tokens_map.json: mask_token is \"<mask>\", not \"[MASK]\""));
  EXPECT_THAT(refusal(R"({"bos_token": {"content": ""}})"),
              HasSubstr("special_tokens_map.json: content is empty"));
}

TEST_F(TokenizerFile, RejectsAMalformedConfig) {
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

TEST_F(TokenizerFile, TokenizerJsonRoundTrips) {
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
  for (const TokenizerOptions& more :
       {TokenizerOptions{.control = ControlCharacters::electra, .nfc = true},
        TokenizerOptions{.control = ControlCharacters::electra, .zero_width_space = true},
        TokenizerOptions{.control = ControlCharacters::electra,
                         .nfc = true,
                         .zero_width_space = true,
                         .turkic_case = true}})
    EXPECT_EQ(BertTokenizer::load(file("x.json", tokenizer_json(vocabulary, more)), {}).options(),
              more);
  EXPECT_EQ(tokenizer.tokenize("abb abbb"), (Words{"a", "__b", "__b", "[UNK]"}));
  EXPECT_EQ(tokenizer.decode(Ids{4, 5, 5, 6}), "abb é");
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(path, {.lower_case = true}); }),
              HasSubstr("--lower-case: true, but " + path + " has false"));
}

TEST_F(TokenizerFile, ContinuesWordUsesThePrefixOfTheVocabulary) {
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

TEST_F(TokenizerFile, RejectsAnUnsupportedTokenizerJson) {
  const Json good = Json::parse(tokenizer_json(Vocabulary({"[UNK]", "[CLS]", "[SEP]"}), {}));
  const auto refusal = [&](const char* pointer, const Json& value) {
    Json changed = good;
    changed.set(pointer, value);
    return usage_error([&] { BertTokenizer::load(file("t.json", changed.dump()), {}); });
  };
  EXPECT_EQ(refusal("/version", "2"), "no UsageError");
  EXPECT_THAT(refusal("/model/type", "WordLevel"),
              HasSubstr("t.json: model.type is \"WordLevel\", not \"WordPiece\""));
  EXPECT_THAT(refusal("/model/type", "BPE"),
              HasSubstr("t.json: model.continuing_subword_prefix is \"##\", not null"));
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
  EXPECT_EQ(refusal("/model/vocab/a", 9), "no UsageError") << "ids may have gaps";
  EXPECT_THAT(refusal("/model/vocab/a", -1), HasSubstr("a is -1, not the id of a token"));
  EXPECT_THAT(refusal("/post_processor/type", "RobertaProcessing"),
              HasSubstr("post_processor.type is \"RobertaProcessing\""));
  EXPECT_THAT(refusal("/post_processor/single/2/SpecialToken/id", "[CLS]"),
              HasSubstr("post_processor.single is an array, not [CLS] A [SEP]"));
  EXPECT_THAT(refusal("/model/vocab/a", 2), AllOf(HasSubstr("id 2 is both '"), HasSubstr("'a'")));
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(file("t.json", "{}"), {}); }),
              HasSubstr("model.type is missing"));
  EXPECT_THAT(usage_error([&] { BertTokenizer::load(file("t.json", "nonsense"), {}); }),
              HasSubstr("t.json: is not a JSON object"));
}

TEST_F(TokenizerFile, SurvivesRandomlyDamagedFiles) {
  const std::string good =
      tokenizer_json(Vocabulary({"[UNK]", "[CLS]", "[SEP]", "a"}), {.strip_accents = true});
  const std::string config =
      R"({"do_lower_case": false, "strip_accents": null, "tokenizer_class": "BertTokenizer"})";
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

TEST_F(TokenizerFile, OffsetsAreByteRangesOfTheText) {
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

TEST_F(TokenizerFile, OffsetsAscendAndMatchTheIdsInAllScripts) {
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

TEST_F(TokenizerFile, ThrowsForInvalidIds) {
  const BertTokenizer tokenizer = BertTokenizer::load(vocab(), {});
  EXPECT_THAT(usage_error([&] { tokenizer.decode(Ids{1, 5}); }),
              HasSubstr("vocab.txt: has 5 pieces, but no id 5"));
  EXPECT_THAT(usage_error([&] { tokenizer.decode(Ids{-1}); }), HasSubstr("but no id -1"));
}

TEST_F(TokenizerFile, MatchesHuggingFaceForSavedAndLoadedFiles) {
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

TEST_F(TokenizerFile, SentencePieceModelsMatchGooglesPackage) {
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

TEST_F(TokenizerFile, SentencePieceModelDecodesWhatItEncoded) {
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
              HasSubstr("m.model: has 20 pieces, but no id 20"));
  EXPECT_THAT(usage_error([&] { load_tokenizer(dir_.file("m.model"), {.lower_case = true}); }),
              HasSubstr("m.model: the normalization of a SentencePiece model"));
}

TEST_F(TokenizerFile, ThrowsForAFileThatIsNotASentencePieceModel) {
  EXPECT_THAT(usage_error([&] { load_tokenizer(file("x.model", "no model"), {}); }),
              HasSubstr("x.model: not a SentencePiece model (8 bytes)"));
  EXPECT_THAT(usage_error([&] { load_tokenizer(file("x.model", ""), {}); }),
              HasSubstr("x.model: not a SentencePiece"));
  EXPECT_THAT(usage_error([&] { load_tokenizer(dir_.file("none.model"), {}); }),
              HasSubstr("none.model"));
}

}  // namespace
}  // namespace smelt::text
