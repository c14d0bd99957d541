#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"
#include "text/rows.h"
#include "text/unicode.h"

namespace smelt {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The 16 bits of "\uXXXX" at the beginning of `text`, if it is that.
std::optional<unsigned> escaped_unit(std::string_view text) {
  unsigned unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  return unit;
}

// Takes halves of surrogate pairs out of JSON: other programs write them where a text was cut
// within a character. How many bytes they were.
std::size_t remove_lone_surrogates(std::string& json) {
  std::string kept;
  std::string_view rest = json;
  const auto take = [&](std::size_t count) {
    kept += rest.substr(0, count);
    rest.remove_prefix(count);
  };
  while (!rest.empty()) {
    const std::optional<unsigned> unit = escaped_unit(rest);
    if (!unit) {
      take(rest.front() == '\\' ? std::min<std::size_t>(2, rest.size()) : 1);
    } else if (*unit >= 0xd800 && *unit < 0xe000) {
      const unsigned next = escaped_unit(rest.substr(6)).value_or(0);
      if (*unit < 0xdc00 && next >= 0xdc00 && next < 0xe000)
        take(12);
      else
        rest.remove_prefix(6);
    } else {
      take(6);
    }
  }
  const std::size_t dropped = json.size() - kept.size();
  json = std::move(kept);
  return dropped;
}

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
      throw UsageError(
          str(place(), ": field '", field_, "' is ", found->type_name(), ", not a string"),
          "name the field that holds the text with --field");
    text = found->get_ref<const std::string&>();
    return true;
  }

 private:
  std::string place() const { return str(lines_.path(), ":", lines_.number()); }

  nlohmann::json parse() {
    auto row = nlohmann::json::parse(line_, nullptr, false);
    if (row.is_discarded())
      if (const std::size_t dropped = remove_lone_surrogates(line_); dropped > 0) {
        row = nlohmann::json::parse(line_, nullptr, false);
        if (row.is_object()) utf8_.count_dropped(dropped, lines_.path(), lines_.number());
      }
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
  TsvRows(const std::string& path, const std::string& field, Utf8Filter& utf8)
      : lines_(path), utf8_(utf8) {
    if (lines_.next(line_)) utf8_.apply(line_, lines_);
    std::string_view header = line_;
    if (header.starts_with(kByteOrderMark)) header.remove_prefix(kByteOrderMark.size());
    std::vector<std::string> names;
    for (const std::string_view name : split(header, '\t')) names.emplace_back(name);
    column_ = static_cast<std::size_t>(std::ranges::find(names, field) - names.begin());
    if (column_ == names.size())
      throw UsageError(str(path, ":1: no column '", field, "'"), did_you_mean(field, names));
  }

  bool next(std::string& text) override {
    if (!lines_.next(line_)) return false;
    utf8_.apply(line_, lines_);
    const auto fields = split(line_, '\t');
    if (fields.size() <= column_)
      throw UsageError(str(lines_.path(), ":", lines_.number(), ": ", fields.size(),
                           " columns, the text is column ", column_ + 1),
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

std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::string& field,
                                      Utf8Filter& utf8) {
  return std::make_unique<JsonlRows>(path, field, utf8);
}

std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::string& field,
                                    Utf8Filter& utf8) {
  return std::make_unique<TsvRows>(path, field, utf8);
}

}  // namespace smelt
