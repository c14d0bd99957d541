#include "data/preprocess/row_records.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/plural.h"

namespace smelt::data {
namespace {

constexpr std::size_t kRowsAtOnce = 4096;  // rows in memory
constexpr std::size_t kRowsOfThread = 256;

}  // namespace

std::vector<bool> heldout_rows(const std::vector<std::int32_t>& classes, const RowSplit& split) {
  struct Row {
    std::int32_t of;
    std::uint64_t key;
    std::size_t number;
    auto operator<=>(const Row&) const = default;
  };
  const std::uint64_t key = random_key(split.seed, "held-out rows");
  std::vector<Row> rows;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto bits = philox(key, i, 0);
    rows.push_back({classes[i], std::uint64_t{bits[0]} << 32 | bits[1], i});
  }
  std::ranges::sort(rows);
  std::vector<bool> out(classes.size(), false);
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && rows[end].of == rows[begin].of) ++end;
    const auto all = static_cast<double>(end - begin);
    auto take = static_cast<std::size_t>(split.heldout * all + 0.5);
    if (end - begin > 1) take = std::clamp<std::size_t>(take, 1, end - begin - 1);
    if (end - begin == 1) take = 0;
    for (std::size_t i = begin; i < begin + take; ++i) out[rows[i].number] = true;
  }
  return out;
}

std::vector<bool> wanted_rows(const LabelledFiles& files, const std::string& what,
                              const std::optional<RowSplit>& split, const ClassOfRow& class_of) {
  if (!split) return {};
  std::vector<std::int32_t> classes;
  auto rows = LabelledRows::quiet(files, what);
  for (LabelledRow row; rows.next(row);) classes.push_back(class_of(row, rows.place()));
  std::vector<bool> wanted = heldout_rows(classes, *split);
  if (split->part == RowSplit::Part::train) wanted.flip();
  return wanted;
}

std::vector<bool> wanted_groups(const LabelledFiles& files, const std::string& what,
                                const std::optional<RowSplit>& split, const GroupOfRow& group_of) {
  if (!split) return {};
  // The number of each group, by the hash of its text.
  std::unordered_map<std::size_t, std::size_t> numbers;
  std::vector<std::size_t> of_row;
  auto rows = LabelledRows::quiet(files, what);
  for (LabelledRow row; rows.next(row);)
    of_row.push_back(
        numbers.try_emplace(std::hash<std::string>()(group_of(row)), numbers.size()).first->second);
  const auto held = heldout_rows(std::vector<std::int32_t>(numbers.size(), 0), *split);
  const bool is_heldout = split->part == RowSplit::Part::heldout;
  std::vector<bool> out;
  for (const std::size_t group : of_row) out.push_back(held[group] == is_heldout);
  return out;
}

LabelledRows rows_to_write(const LabelledFiles& files, const std::string& what,
                           const std::optional<RowSplit>& split) {
  if (split && split->part == RowSplit::Part::heldout) return LabelledRows::quiet(files, what);
  return LabelledRows(files, what);
}

void throw_no_example(const LabelledFiles& files, const std::string& what,
                      const std::optional<RowSplit>& split, std::size_t rows,
                      const std::string& hint) {
  if (rows > 0 && split && split->part == RowSplit::Part::heldout)
    throw UsageError(str(what, ": of the ", counted(rows, "row"), " of ", files.input,
                         " none can be held out for evaluation: ",
                         rows == 1 ? "training needs the only row"
                                   : "each is the only row of its class, which training needs"),
                     "give rows to evaluate on with data.validation; data.validation_share holds "
                     "out rows of classes with two rows or more");
  throw UsageError(str(what, ": ", files.input, " has no row to make an example of"), hint);
}

void check_rows(const LabelledFiles& files, const std::string& what, const std::string& hint) {
  constexpr std::size_t kMostRows = 100'000;
  auto rows = LabelledRows::quiet(files, what);
  std::size_t count = 0;
  for (LabelledRow row; count < kMostRows && rows.next(row);) ++count;
  if (count == 0) throw_no_example(files, what, {}, 0, hint);
}

std::string rows_beside(const std::string& records) { return records + ".rows.jsonl"; }

std::string row_line(const LabelledRow& row) {
  OrderedJson out{{"text", row.users_text()}, {"label", row.label}};
  if (!row.pair.empty()) out["pair"] = row.users_pair();
  return out.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n";
}

RowRecords::RowRecords(const std::string& output, Encode encode)
    : encode_(std::move(encode)), file_(output) {}

void RowRecords::add(LabelledRow row) {
  rows_.push_back(std::move(row));
  if (rows_.size() == kRowsAtOnce) write_rows();
}

RowCounts RowRecords::finish() {
  write_rows();
  if (counts_.examples > 0) index_.write(file_.path());
  return std::move(counts_);
}

void RowRecords::write_rows() {
  std::vector<std::vector<EncodedRow>> encoded(rows_.size());
  run_each((rows_.size() + kRowsOfThread - 1) / kRowsOfThread, available_threads(),
           [&](std::size_t part) {
             const std::size_t begin = part * kRowsOfThread;
             const std::size_t end = std::min(begin + kRowsOfThread, rows_.size());
             for (std::size_t i = begin; i < end; ++i) encoded[i] = encode_(rows_[i]);
           });
  for (const auto& of_row : encoded)
    for (const EncodedRow& one : of_row) put(one);
  rows_.clear();
}

void RowRecords::put(const EncodedRow& one) {
  file_.write(one.record);
  index_.add(one.record, one.tokens);
  ++counts_.examples;
  counts_.tokens += one.tokens;
  counts_.unknown += one.unknown;
  text::add_counts(one.unknown_characters, counts_.unknown_characters);
  counts_.cut += one.is_cut ? 1 : 0;
  counts_.tokens_of_each.push_back(static_cast<std::int64_t>(one.tokens));
}

}  // namespace smelt::data
