// Which rows of a data set have the same text: by 64-bit hashes, 24 bytes a row.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "data/preprocess/labelled_rows.h"

namespace smelt {

struct RowNumber {
  std::uint32_t split = 0, row = 0;  // from 0

  auto operator<=>(const RowNumber&) const = default;
};

struct SameText {
  std::array<RowNumber, 2> rows;
  bool other_label = false;
};

struct SameTextCounts {
  struct Rows {
    std::uint64_t rows = 0, other_label = 0;  // other_label: of those
  };
  std::vector<Rows> within;               // rows of a split whose text an earlier row of it has
  std::vector<std::vector<Rows>> across;  // [split][earlier split]: rows of split that are there
  std::vector<SameText> examples;         // a few, those with other labels first
};

// Texts are the same if they differ in white space and in the case of ASCII letters alone.
class SameTexts {
 public:
  void begin_split() { ++splits_; }
  void add(const LabelledRow& row);
  SameTextCounts count();  // once, at the end

  struct Entry {
    std::uint64_t text = 0;
    RowNumber at;
    std::uint32_t label = 0;  // hashed
  };

 private:
  std::uint32_t splits_ = 0, rows_ = 0, split_of_rows_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace smelt
