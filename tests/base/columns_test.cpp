#include "base/columns.h"

#include <gtest/gtest.h>

#include "base/number_format.h"
#include "base/progress_line.h"

namespace smelt {
namespace {

TEST(Columns, CountsTwoForWideCharactersAndZeroForCombiningMarks) {
  EXPECT_EQ(columns("abc…"), 4u);
  EXPECT_EQ(columns("分類"), 4u);
  EXPECT_EQ(columns("분류"), 4u);
  EXPECT_EQ(columns("ที่"), 1u);
  EXPECT_EQ(columns("e\u0301"), 1u);
  EXPECT_EQ(columns("\u1112\u1161\u11AB"), 2u);  // 한 in its parts
  EXPECT_EQ(columns("a\xE2\x80\x8B"
                    "b\xFF"),
            3u);
}

TEST(Columns, ShortensTextToANumberOfColumns) {
  EXPECT_EQ(shortened_to_columns("分類結果", 8), "分類結果");
  EXPECT_EQ(shortened_to_columns("分類結果", 6), "分類…");
  EXPECT_EQ(shortened_to_columns("分類結果", 5), "分類…");
  EXPECT_EQ(shortened_to_columns("abc", 2), "a…");
}

TEST(Columns, AlignsTablesWithWideCharacters) {
  EXPECT_EQ(table_text({{"run", "loss"}, {"분류", "1"}, {"ที่", "2"}}),
            "run   loss\n분류  1\nที่     2\n");
}

TEST(Columns, FitsTheProgressLineToTheWidth) {
  EXPECT_EQ(fitted_line({{.text = "분류 결과"}, {.text = "90 %", .rank = 1}}, 12), "분류 결과");
  EXPECT_EQ(fitted_line({{.text = "분류 결과"}, {.text = "90 %", .rank = 1}}, 14),
            "분류 결과 90 %");
}

}  // namespace
}  // namespace smelt
