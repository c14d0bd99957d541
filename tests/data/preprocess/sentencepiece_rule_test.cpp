// The choice of normalization for a SentencePiece model.
#include <gmock/gmock.h>

#include "data/preprocess/subword_vocabulary.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

TEST(SentencePieceRule, KeepsThePunctuationOfScriptsWithoutSpaces) {
  using Rule = text::SentencePieceOptions::Rule;
  const TempDir dir;
  text::LinesOptions text;
  text.input = dir.file("a.txt");
  io::write_file(text.input, "Plain English text with a word: 值.\n");
  EXPECT_EQ(choose_rule("auto", text), Rule::nmt_nfkc);
  EXPECT_EQ(choose_rule("identity", text), Rule::identity);
  io::write_file(text.input, "这是一个文本。 And some English.\n");
  const CapturedLog log;
  EXPECT_EQ(choose_rule("auto", text), Rule::nfc);
  EXPECT_THAT(log.text(), testing::HasSubstr("vocab: normalization nfc, because "));
  EXPECT_EQ(choose_rule("nmt_nfkc", text), Rule::nmt_nfkc);
  EXPECT_THAT(error_of<UsageError>([&] { choose_rule("nfd", text); }),
              testing::HasSubstr("vocab: --normalization 'nfd' is unknown"));
}

}  // namespace
}  // namespace smelt::data
