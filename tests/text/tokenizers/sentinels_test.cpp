#include "text/tokenizers/sentinels.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace smelt::text {
namespace {

// A tokenizer with a list of pieces only.
class Pieces : public Tokenizer {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::int32_t size() const override { return static_cast<std::int32_t>(pieces_.size()); }
  const std::string& token(std::int32_t id) const override {
    return pieces_.at(static_cast<std::size_t>(id));
  }
  std::int32_t unknown() const override { return 2; }
  bool continues_word(std::int32_t) const override { return false; }
  void encode(std::string_view, std::vector<std::int32_t>&) const override {}
  std::vector<TokenSpan> encode_with_offsets(std::string_view) const override { return {}; }
  std::string decode(std::span<const std::int32_t>) const override { return {}; }

 private:
  std::vector<std::string> pieces_;
};

TEST(Sentinels, AreAddedAboveThePiecesIfTheVocabularyHasNone) {
  const Pieces pieces({"<pad>", "</s>", "<unk>",
                       "\xE2\x96\x81"
                       "a",
                       "<extra_id_x>"});
  const Sentinels got = sentinels_of(pieces, "x.model", 100);
  EXPECT_EQ(got.first, 104);  // the id of <extra_id_0>, like 32099 with T5's 32000 pieces
  EXPECT_EQ(got.count, 100);
  EXPECT_EQ(got.ids, 105);
  EXPECT_EQ(sentinels_of(pieces, "x.model", 0).count, 0);
  EXPECT_EQ(id_of_piece(pieces, "x.model", "</s>"), 1);
}

TEST(Sentinels, AreTakenFromTheVocabularyIfItHasSome) {
  const Pieces mt5({"<pad>", "</s>", "<unk>", "a", "\xE2\x96\x81<extra_id_2>",
                    "\xE2\x96\x81<extra_id_1>", "\xE2\x96\x81<extra_id_0>", "b"});
  const Sentinels got = sentinels_of(mt5, "x.model", 100);
  EXPECT_EQ(got.first, 6);
  EXPECT_EQ(got.count, 3);
  EXPECT_EQ(got.ids, 8);
}

TEST(Sentinels, ThrowIfIdsAscendOrPiecesAreMissing) {
  const Pieces ascending({"<pad>", "<extra_id_0>", "<extra_id_1>"});
  EXPECT_EQ(error_of<UsageError>([&] { sentinels_of(ascending, "x.model", 100); }),
            "x.model: <extra_id_1> has id 2; the ids of sentinels must descend by 1 from that of "
            "<extra_id_0>\n"
            "  hint: make a vocabulary with descending sentinels, or without sentinels, so that "
            "they get ids above the pieces");
  EXPECT_EQ(error_of<UsageError>([&] { sentinels_of(ascending, "x.model", -1); }),
            "x.model: -1 sentinels, must be at least 0\n  hint: use 100 as in T5, or 0 for none");
  EXPECT_EQ(error_of<UsageError>([&] { id_of_piece(ascending, "x.model", "</s>"); }),
            "x.model: no piece '</s>'\n  hint: use a vocabulary that has it, such as T5's "
            "spiece.model, or make one with `smelt vocab train --type unigram --out x.model`");
}

}  // namespace
}  // namespace smelt::text
