#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest_name.h"
#include "text/rows.h"
#include "text/unicode.h"

namespace smelt {
namespace {

class JsonlRows : public RowReader {
 public:
  JsonlRows(const std::string& path, std::string field, Utf8Filter& utf8)
      : lines_(path), field_(std::move(field)), utf8_(utf8) {}

  bool next(std::string& text) override {
    do {
      if (!lines_.next(line_)) return false;
      utf8_.apply(line_, lines_);
    } while (python_strip(line_).empty());
    const auto row = parse();
    const auto found = row.find(field_);
    if (found == row.end()) throw_missing(row);
    if (!found->is_string())
      throw UsageError(str(place(), ": field '", field_, "' is ", found->type_name(), ", not a string"),
                       "name the field that holds the text with --field");
    text = found->get_ref<const std::string&>();
    return true;
  }

 private:
  std::string place() const { return str(lines_.path(), ":", lines_.number()); }

  nlohmann::json parse() const {
    const auto row = nlohmann::json::parse(line_, nullptr, false);
    if (row.is_object()) return row;
    throw UsageError(str(place(), ": not a JSON object: ", line_.substr(0, 60)),
                     "a line of JSONL is one whole {\"field\": …}; mend or remove this one");
  }

  [[noreturn]] void throw_missing(const nlohmann::json& row) const {
    std::vector<std::string> names;
    for (const auto& item : row.items()) names.push_back(item.key());
    throw UsageError(str(place(), ": no field '", field_, "'"), did_you_mean(field_, names));
  }

  LineReader lines_;
  std::string field_, line_;
  Utf8Filter& utf8_;
};

class TsvRows : public RowReader {
 public:
  TsvRows(const std::string& path, const std::string& field, Utf8Filter& utf8) : lines_(path), utf8_(utf8) {
    if (lines_.next(line_)) utf8_.apply(line_, lines_);
    std::vector<std::string> names;
    for (const std::string_view name : split(line_, '\t')) names.emplace_back(name);
    column_ = static_cast<std::size_t>(std::ranges::find(names, field) - names.begin());
    if (column_ == names.size())
      throw UsageError(str(path, ":1: no column '", field, "'"), did_you_mean(field, names));
  }

  bool next(std::string& text) override {
    if (!lines_.next(line_)) return false;
    utf8_.apply(line_, lines_);
    const auto fields = split(line_, '\t');
    if (fields.size() <= column_)
      throw UsageError(str(lines_.path(), ":", lines_.number(), ": ", fields.size(), " columns, the text is column ",
                           column_ + 1),
                       "give every line as many tabs as the first");
    text = fields[column_];
    return true;
  }

 private:
  LineReader lines_;
  std::string line_;
  std::size_t column_ = 0;
  Utf8Filter& utf8_;
};

}  // namespace

std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::string& field, Utf8Filter& utf8) {
  return std::make_unique<JsonlRows>(path, field, utf8);
}

std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::string& field, Utf8Filter& utf8) {
  return std::make_unique<TsvRows>(path, field, utf8);
}

}  // namespace smelt
