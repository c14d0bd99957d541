// Finds rows of a data set with the same text by 64-bit hashes; needs 24 bytes of memory per row.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "data/preprocess/labelled_rows.h"

namespace smelt::data {

struct RowNumber {
  std::uint32_t split = 0, row = 0;  // numbers of the split and of the row, from 0

  auto operator<=>(const RowNumber&) const = default;
};

struct SameText {
  std::array<RowNumber, 2> rows;
  bool other_label = false;
};

struct SameTextCounts {
  struct Rows {
    // other_label: of these, rows for which a row with the same text has another label
    std::uint64_t rows = 0, other_label = 0;
  };
  std::vector<Rows> within;  // [split]: rows whose text also occurs in an earlier row of the split
  // [split][earlier split]: rows of the split whose text also occurs in the earlier split
  std::vector<std::vector<Rows>> across;
  std::vector<SameText> examples;  // a few examples, those with different labels first
};

// Collects texts. Texts are the same if they differ only in white space and in the case of ASCII
// letters.
class SameTexts {
 public:
  void begin_split() { ++splits_; }
  void add(const LabelledRow& row);
  SameTextCounts count();  // call once, at the end

  struct Entry {
    std::uint64_t text = 0;
    RowNumber at;
    std::uint32_t label = 0;  // hash of the label
  };

 private:
  std::uint32_t splits_ = 0, rows_ = 0, split_of_rows_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace smelt::data
