#include "tokenize/sentencepiece_trainer.h"

#include <gmock/gmock.h>

#include "store/file.h"
#include "support/paths.h"
#include "tokenize/sentencepiece.h"

namespace smelt {
namespace {

// Returns the pieces of a text by a model that was trained with the options.
std::string pieces_of(SentencePieceOptions options, std::string_view text) {
  const TempDir dir;
  int lines = 0;
  if (!options.byte_fallback) options.size = 60;
  const std::string model = train_sentencepiece(
      [&](std::string& line) {
        line = "（输入）：“值”，；！ caf\u00E9 一 二 三";
        return lines++ < 20;
      },
      options);
  write_file(dir.file("x.model"), model);
  const SentencePieceTokenizer tokenizer(dir.file("x.model"));
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, ids);
  std::string out;
  for (const std::int32_t id : ids) out += tokenizer.token(id);
  return out;
}

TEST(SentencePieceTrainer, NormalizesAsTheRuleSays) {
  using Rule = SentencePieceOptions::Rule;
  const std::string text = "（值），cafe\u0301\u3000一";
  EXPECT_EQ(pieces_of({.rule = Rule::nmt_nfkc}, text), "▁(值),caf\u00E9▁一");
  EXPECT_EQ(pieces_of({.rule = Rule::nfc}, text), "▁（值），caf\u00E9▁一");
  EXPECT_EQ(pieces_of({.rule = Rule::identity}, "（值）"), "▁（值）");
}

TEST(SentencePieceTrainer, WritesUnknownCharactersAsBytesOnDemand) {
  EXPECT_EQ(pieces_of({.size = 320, .byte_fallback = true}, "值ж"), "▁值<0xD0><0xB6>");
}

}  // namespace
}  // namespace smelt
