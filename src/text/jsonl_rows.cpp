#include "text/jsonl_rows.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"
#include "text/unicode.h"

namespace smelt {
namespace {

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
  JsonlRows(const std::string& path, const std::vector<Field>& fields, Utf8Filter& utf8)
      : lines_(path), fields_(fields), utf8_(utf8) {}

  bool next(std::vector<std::string>& values) override {
    do {
      if (!lines_.next(line_)) return false;
      utf8_.apply(line_, lines_);
    } while (python_strip(line_).empty());
    const auto row = parse();
    values.resize(fields_.size());
    for (std::size_t i = 0; i < fields_.size(); ++i) values[i] = value_of(row, fields_[i]);
    return true;
  }
  std::uint64_t bytes_read() const override { return lines_.bytes_read(); }

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

  std::string value_of(const nlohmann::json& row, const Field& field) const {
    const auto found = row.find(field.name);
    if (found == row.end()) throw_missing(row, field);
    if (found->is_string()) return found->get_ref<const std::string&>();
    if (!field.is_text && (found->is_number() || found->is_boolean())) return found->dump();
    throw UsageError(str(place(), ": field '", field.name, "' is ", found->type_name(),
                         field.is_text ? ", not a string" : ", not a string or a number"),
                     "name the field that is meant, e.g. with --field");
  }

  [[noreturn]] void throw_missing(const nlohmann::json& row, const Field& field) const {
    std::vector<std::string> names;
    for (const auto& item : row.items()) names.push_back(item.key());
    throw UsageError(str(place(), ": no field '", field.name, "'"),
                     did_you_mean(field.name, names));
  }

  LineReader lines_;
  std::vector<Field> fields_;
  std::string line_;
  Utf8Filter& utf8_;
};

}  // namespace

std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::vector<Field>& fields,
                                      Utf8Filter& utf8) {
  return std::make_unique<JsonlRows>(path, fields, utf8);
}

}  // namespace smelt
