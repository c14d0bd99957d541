// Texts and pairs framed and cut, against the rule of google-research/bert, _truncate_seq_pair.
#include "tokenize/text_pair.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smelt {
namespace {

const BertTokenizer& words() {
  static const BertTokenizer tokenizer(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e", "f"}), {});
  return tokenizer;
}

std::string framed(std::int64_t most, std::string_view a, std::string_view b, std::size_t* cut) {
  const TextPairIds ids = TextPairEncoder(words(), most).encode(a, b);
  std::string out;
  for (std::size_t i = 0; i < ids.ids.size(); ++i)
    out += (i == ids.first ? "| " : "") + words().token(ids.ids[i]) + " ";
  *cut = ids.cut;
  return out;
}

TEST(TextPair, IsFramedAndTheLongerLosesItsEnd) {
  std::size_t cut = 9;
  EXPECT_EQ(framed(8, "a b", "", &cut), "[CLS] a b [SEP] ");
  EXPECT_EQ(cut, 0u);
  EXPECT_EQ(framed(8, "a b", "c", &cut), "[CLS] a b [SEP] | c [SEP] ");
  EXPECT_EQ(framed(5, "a b c d e", "", &cut), "[CLS] a b c [SEP] ");
  EXPECT_EQ(cut, 2u);
  // Five pieces for a pair: of equally long ones the second loses first.
  EXPECT_EQ(framed(8, "a b c", "d e f", &cut), "[CLS] a b c [SEP] | d e [SEP] ");
  EXPECT_EQ(framed(8, "a b c d e", "f", &cut), "[CLS] a b c d [SEP] | f [SEP] ");
  EXPECT_EQ(framed(8, "a", "b c d e f", &cut), "[CLS] a [SEP] | b c d e [SEP] ");
  EXPECT_EQ(framed(5, "a b c", "d e f", &cut), "[CLS] a [SEP] | d [SEP] ");
  EXPECT_EQ(cut, 4u);
}

}  // namespace
}  // namespace smelt
