// Encoding and truncation of texts and pairs, compared with google-research/bert,
// _truncate_seq_pair.
#include "text/tokenizers/text_pair.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smelt::text {
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

TEST(TextPair, TruncatesTheLongerText) {
  std::size_t cut = 9;
  EXPECT_EQ(framed(8, "a b", "", &cut), "[CLS] a b [SEP] ");
  EXPECT_EQ(cut, 0u);
  EXPECT_EQ(framed(8, "a b", "c", &cut), "[CLS] a b [SEP] | c [SEP] ");
  EXPECT_EQ(framed(5, "a b c d e", "", &cut), "[CLS] a b c [SEP] ");
  EXPECT_EQ(cut, 2u);
  // Five pieces for a pair: if both are equally long, the second one is truncated first.
  EXPECT_EQ(framed(8, "a b c", "d e f", &cut), "[CLS] a b c [SEP] | d e [SEP] ");
  EXPECT_EQ(framed(8, "a b c d e", "f", &cut), "[CLS] a b c d [SEP] | f [SEP] ");
  EXPECT_EQ(framed(8, "a", "b c d e f", &cut), "[CLS] a [SEP] | b c d e [SEP] ");
  EXPECT_EQ(framed(5, "a b c", "d e f", &cut), "[CLS] a [SEP] | d [SEP] ");
  EXPECT_EQ(cut, 4u);
}

TEST(TextPair, EncodeWordsReturnsTheFirstPieceOfEachWord) {
  const std::vector<std::string_view> text = words_in(" a  b,c x \u200b d e");
  EXPECT_EQ(text, (std::vector<std::string_view>{"a", "b,c", "x", "\u200b", "d", "e"}));
  const auto of = [&](std::int64_t most) {
    return TextPairEncoder(words(), most).encode_words(text);
  };
  // "b,c" is three pieces; a word without pieces, such as a zero width space, is unknown.
  EXPECT_EQ(of(20).words, (std::vector<std::size_t>{1, 2, 5, 6, 7, 8}));
  EXPECT_EQ(of(20).ids, (std::vector<std::int32_t>{2, 5, 6, 1, 7, 1, 1, 8, 9, 3}));
  EXPECT_EQ(of(5).ids, (std::vector<std::int32_t>{2, 5, 6, 1, 3}));
  EXPECT_EQ(of(5).words, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(of(5).cut, 5u);
}

}  // namespace
}  // namespace smelt::text
