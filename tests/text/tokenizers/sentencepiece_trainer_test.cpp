#include "text/tokenizers/sentencepiece_trainer.h"

#include <gmock/gmock.h>

#include "io/filesystem/file.h"
#include "support/paths.h"
#include "text/tokenizers/sentencepiece.h"

namespace smelt::text {
namespace {

constexpr std::string_view kLine = "（输入）：“值”，；！ caf\u00E9 一 二 三";

// Returns a model that was trained with the options on 20 equal lines.
std::string model_of(SentencePieceOptions options, std::string_view training_line = kLine) {
  int lines = 0;
  if (!options.byte_fallback) options.size = 60;
  return train_sentencepiece(
      [&](std::string& line) {
        line = training_line;
        return lines++ < 20;
      },
      options);
}

// Returns the pieces of a text by model_of().
std::string pieces_of(const SentencePieceOptions& options, std::string_view text,
                      std::string_view training_line = kLine) {
  const TempDir dir;
  io::write_file(dir.file("x.model"), model_of(options, training_line));
  const SentencePieceTokenizer tokenizer(dir.file("x.model"));
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, ids);
  std::string out;
  for (const std::int32_t id : ids) out += tokenizer.token(id);
  return out;
}

TEST(SentencePieceTrainer, NormalizesByTheConfiguredRule) {
  using Rule = SentencePieceOptions::Rule;
  const std::string text = "（值），cafe\u0301\u3000一";
  EXPECT_EQ(pieces_of({.rule = Rule::nmt_nfkc}, text), "▁(值),caf\u00E9▁一");
  EXPECT_EQ(pieces_of({.rule = Rule::nfc}, text), "▁（值），caf\u00E9▁一");
  EXPECT_EQ(pieces_of({.rule = Rule::identity}, "（值）"), "▁（值）");
}

TEST(SentencePieceTrainer, ComposesPartlyComposedText) {
  const auto pieces = [](std::string_view text) {
    return pieces_of({.rule = SentencePieceOptions::Rule::nfc}, text,
                     "\u1ebf \u1ead \uac01 \u01fb");
  };
  const std::string composed = pieces("\u1ebf\u1ead\uac01\u01fb");
  EXPECT_EQ(composed, "▁\u1ebf\u1ead\uac01\u01fb");
  EXPECT_EQ(pieces("e\u0302\u0301a\u0323\u0302\u1100\u1161\u11a8a\u030a\u0301"), composed);
  EXPECT_EQ(pieces("\u00ea\u0301\u1ea1\u0302\uac00\u11a8\u00e5\u0301"), composed);
  EXPECT_EQ(pieces("\u00ea\u0341\u00e2\u0323\uac01\u00e5\u0301"), composed);
}

TEST(SentencePieceTrainer, ModelComposesUnlessTheRuleIsIdentity) {
  using Rule = SentencePieceOptions::Rule;
  const TempDir dir;
  for (const Rule rule : {Rule::nmt_nfkc, Rule::nfc, Rule::identity}) {
    io::write_file(dir.file("x.model"), model_of({.rule = rule}));
    EXPECT_EQ(SentencePieceTokenizer(dir.file("x.model")).composes(), rule != Rule::identity);
  }
}

TEST(SentencePieceTrainer, ModelContainsNoPathOfTheRulesFile) {
  EXPECT_EQ(model_of({.rule = SentencePieceOptions::Rule::nfc}).find("/proc/"), std::string::npos);
}

TEST(SentencePieceTrainer, ByteFallbackEncodesUnknownCharactersAsBytes) {
  EXPECT_EQ(pieces_of({.size = 320, .byte_fallback = true}, "值ж"), "▁值<0xD0><0xB6>");
}

}  // namespace
}  // namespace smelt::text
