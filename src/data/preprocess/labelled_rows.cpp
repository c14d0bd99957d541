#include "data/preprocess/labelled_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "text/readers/unicode.h"

namespace smelt::data {
namespace {

constexpr std::uint64_t kFewRows = 20;  // with so few rows, each may have a different label
constexpr double kMostLabelsOfRows = 0.75;

// Returns whether the label is a missing value as written by Python and pandas, and not a known
// class.
bool is_missing(const std::string& label, const std::vector<std::string>& known) {
  return (label == "nan" || label == "NaN") && std::ranges::find(known, label) == known.end();
}

void check_classes(const std::map<std::string, std::uint64_t>& counts, std::uint64_t rows,
                   const LabelledFiles& files, const std::string& what) {
  const std::string column = str(what, ": column '", files.label, "' of ", files.input);
  if (counts.size() < 2)
    throw UsageError(str(column, " holds ", counts.empty() ? "no label" : "only one label, '",
                         counts.empty() ? "" : counts.begin()->first + "'"),
                     "give rows with at least two different labels");
  bool all_numbers = true;
  const std::string* fraction = nullptr;
  for (const auto& [name, count] : counts) {
    const auto value = label_number(name);
    all_numbers = all_numbers && value.has_value();
    if (value && *value != std::floor(*value)) fraction = &name;
  }
  if (all_numbers && fraction != nullptr)
    throw UsageError(str(column, " holds numbers with fractions, such as ", *fraction,
                         ", which are not classes"),
                     "set model.problem to regression, or name another column with data.label");
  if (rows > kFewRows &&
      static_cast<double>(counts.size()) > kMostLabelsOfRows * static_cast<double>(rows))
    throw UsageError(
        str(column, " holds ", counts.size(), " different labels in ", counted(rows, "row")),
        "name the column of the classes with data.label, or if it is the right one, list all "
        "classes in data.labels");
}

// Normalizes a text to NFC. Returns the original, or an empty string if the text did not change.
std::string composed(std::string& text) {
  if (text::is_ascii(text)) return "";
  std::string before = std::exchange(text, text::nfc(text));
  return before == text ? "" : before;
}

}  // namespace

void compose_texts(LabelledRow& row) {
  row.written_text = composed(row.text);
  row.written_pair = composed(row.pair);
}

LabelledRows::LabelledRows(const LabelledFiles& files, const std::string& what)
    : files_(files), paths_(io::expand_files(files.input, what)), faults_(files.limits) {}

LabelledRows LabelledRows::quiet(LabelledFiles files, const std::string& what) {
  files.limits.quiet = true;
  return LabelledRows(files, what);
}

bool LabelledRows::open_next() {
  if (next_ == paths_.size()) {
    faults_.finish();
    warn_of_label_forms();
    return false;
  }
  const std::string& path = paths_[next_++];
  std::vector<text::Field> fields{{.name = files_.text, .is_words = files_.words}};
  if (!files_.pair.empty()) fields.push_back({.name = files_.pair});
  if (!files_.label.empty())
    fields.push_back({.name = files_.label,
                      .is_text = false,
                      .is_words = files_.words,
                      .is_list = files_.lists,
                      .is_json = files_.answers});
  if (!files_.id.empty())
    fields.push_back({.name = files_.id, .is_text = false, .is_optional = true});
  for (const std::string& name : files_.others) fields.push_back({.name = name, .is_list = true});
  const bool is_squad = files_.answers && files_.format == text::FileFormat::by_name &&
                        io::lower_case_name(path).ends_with(".json");
  encoding_.emplace(path);
  const auto tell = [this, path](const text::TextFault& fault) {
    encoding_->add(fault);
    faults_.add(fault, path);
  };
  reader_ = text::open_rows(path, is_squad ? text::FileFormat::squad : files_.format, fields, tell,
                            files_.header);
  return true;
}

void LabelledRows::compose(LabelledRow& row) {
  if (files_.answers) return;
  compose_texts(row);
  if (text::is_ascii(row.label)) return;
  constexpr std::size_t kMostForms = 1000;
  std::string composed = text::nfc(row.label);
  const auto known = label_forms_.find(composed);
  if (known != label_forms_.end() && known->second != row.label)
    two_forms_.insert(composed);
  else if (known == label_forms_.end() && label_forms_.size() < kMostForms)
    label_forms_.emplace(composed, row.label);
  row.label = std::move(composed);
}

void LabelledRows::warn_of_label_forms() const {
  if (two_forms_.empty() || files_.limits.quiet) return;
  log_warning(
      "{}: {} in NFC and in NFD; both spellings count as one label: {}", files_.input,
      counted(two_forms_.size(), "label occurs", "labels occur"),
      shortened(join(std::vector<std::string>(two_forms_.begin(), two_forms_.end()), ", "), 100));
}

bool LabelledRows::next(LabelledRow& row) {
  for (;;) {
    if (!reader_ && !open_next()) return false;
    if (!reader_->next(values_)) {
      reader_.reset();
      continue;
    }
    for (const std::string& value : values_) encoding_->add_text(value.size());
    row.text = std::move(values_[0]);
    std::size_t at = 1;
    if (!files_.pair.empty()) row.pair = std::move(values_[at++]);
    if (!files_.label.empty()) row.label = trim(values_[at++]);
    compose(row);
    const bool is_nan = (files_.needs_label || files_.lists) && is_missing(row.label, files_.known);
    const std::string name = is_nan ? std::exchange(row.label, "") : "";
    if (!files_.id.empty()) row.id = std::move(values_[at++]);
    row.others.assign(values_.begin() + static_cast<std::ptrdiff_t>(at), values_.end());
    const bool has_first = files_.takes_empty || !trim(row.text).empty();
    const bool has_text = has_first && !(files_.needs_pair && trim(row.pair).empty());
    if (has_text && !(files_.needs_label && row.label.empty())) break;
    const std::string& bad_text = has_first ? files_.pair : files_.text;
    faults_.add(
        {.line = reader_->line(),
         .what = str(has_text ? "the label in '" : "the text in '",
                     has_text ? files_.label : bad_text, is_nan ? "' is NaN" : "' is empty"),
         .hint = is_nan
                     ? str("remove the row, or if '", name, "' is a class, list it in data.labels")
                     : "remove the row, or name another column"},
        paths_[next_ - 1]);
  }
  faults_.add_good_row();
  return true;
}

std::string LabelledRows::place() const {
  return str(paths_[next_ - 1], ":", reader_ ? reader_->line() : 0);
}

LabelReader::LabelReader(io::Labels labels) : labels_(std::move(labels)) {
  for (std::size_t i = 0; i < labels_.names.size(); ++i) {
    text::to_nfc(labels_.names[i]);
    numbers_.emplace(labels_.names[i], static_cast<std::int32_t>(i));
  }
}

std::vector<std::int32_t> LabelReader::classes(const std::string& label,
                                               const std::string& place) const {
  std::vector<std::int32_t> out;
  for (const std::string& name : label_names(labels_.problem, label, labels_.names)) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end())
      throw UsageError(str(place, ": label '", name, "' is not one of the ", labels_.names.size(),
                           " classes of the training data"),
                       did_you_mean(name, labels_.names));
    out.push_back(found->second);
  }
  return out;
}

float LabelReader::number(const std::string& label, const std::string& place) const {
  if (const auto value = label_number(label)) return static_cast<float>(*value);
  throw UsageError(str(place, ": label '", label, "' is not a number"),
                   "give numbers for a regression or a reranker, or set model.problem to "
                   "single_label for classes");
}

std::optional<double> label_number(std::string_view label) {
  label = trim(label);
  // from_chars accepts a minus sign but no plus sign.
  if (label.starts_with('+') && !label.starts_with("+-")) label.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error != std::errc() || end != label.data() + label.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::vector<std::string> label_names(io::Problem problem, const std::string& label,
                                     std::span<const std::string> known) {
  if (problem == io::Problem::token_labels) {
    const auto words = text::words_in(label);
    return {words.begin(), words.end()};
  }
  if (problem != io::Problem::multi_label) return {label};
  return io::class_names_in(label, known);
}

std::map<std::string, std::uint64_t> count_labels(const LabelledFiles& files, io::Problem problem,
                                                  const std::string& what) {
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t count = 0;
  auto rows = LabelledRows::quiet(files, what);
  for (LabelledRow row; rows.next(row);) {
    const auto names = label_names(problem, row.label);
    for (const std::string& name : names) ++counts[name];
    count += problem == io::Problem::token_labels ? names.size() : 1;
  }
  check_classes(counts, count, files, what);
  return counts;
}

}  // namespace smelt::data
