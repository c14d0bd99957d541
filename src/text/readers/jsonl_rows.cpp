#include "text/readers/jsonl_rows.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "text/readers/json_members.h"
#include "text/readers/lines.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

// Returns the 16-bit value of the "\uXXXX" escape at the beginning of `text`, if there is one.
std::optional<unsigned> escaped_unit(std::string_view text) {
  unsigned unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  return unit;
}

// Removes unpaired surrogate escapes from JSON. Other programs write them when they truncate a text
// within a character. Returns the number of bytes removed.
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

// Returns whether the key equals `name` after resolving escapes: "ni\u006ee" equals "nine".
bool is_name(std::string_view key, const std::string& name) {
  if (key.find('\\') == std::string_view::npos) return key == name;
  return Json::parse_or_discard(str('"', key, '"')) == name;
}

std::string_view type_name(std::string_view value) {
  switch (value.front()) {
    case '{':
      return "object";
    case '[':
      return "array";
    case 'n':
      return "null";
    case 't':
    case 'f':
      return "boolean";
    case 'N':
    case 'I':
      return "invalid JSON";
    default:
      return "number";
  }
}

class JsonlRows : public RowReader {
 public:
  JsonlRows(const std::string& path, const std::vector<Field>& fields, FaultSink faults)
      : lines_(path), fields_(fields), found_(fields.size()), faults_(std::move(faults)) {}

  bool next(std::vector<std::string>& values) override {
    values.resize(fields_.size());
    while (lines_.next(line_)) {
      std::string_view row = line_;
      if (lines_.number() == 1 && row.starts_with(kByteOrderMark))
        row.remove_prefix(kByteOrderMark.size());
      row = python_strip(row);
      if (!row.empty() && read(row, values)) return true;
    }
    return false;
  }
  std::int64_t line() const override { return static_cast<std::int64_t>(lines_.number()); }
  std::uint64_t bytes_read() const override { return lines_.bytes_read(); }

 private:
  // Sets `values` to the requested fields of the row. Returns false for a bad row.
  bool read(std::string_view row, std::vector<std::string>& values) {
    std::ranges::fill(found_, std::string_view());
    const bool whole = for_each_member(row, [&](std::string_view key, std::string_view value) {
      for (std::size_t i = 0; i < fields_.size(); ++i)
        if (is_name(key, fields_[i].name)) found_[i] = value;
    });
    if (!whole)
      return refuse(
          str("not a JSON object: ", decode_utf8_ignore(row.substr(0, 60), nullptr)),
          "each line of a JSONL file is one object, {\"field\": …}; fix or remove this line");
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (!(found_[i].empty() ? lack(row, fields_[i], values[i])
                              : take(found_[i], fields_[i], values[i])))
        return false;
    return true;
  }

  bool take(std::string_view raw, const Field& field, std::string& value) {
    if (raw.front() == '"') return take_text(raw, field, value);
    const auto parsed = Json::parse_or_discard(raw);
    if (field.is_words && parsed.is_array()) return take_words(parsed, field, value);
    if (field.is_list && parsed.is_array()) return take_list(parsed, field, value);
    if (field.is_json && parsed.is_structured()) {
      value = parsed.dump(-1, ' ', false, JsonInvalidUtf8::replace);
      return true;
    }
    if (!field.is_text && (parsed.is_number() || parsed.is_boolean())) {
      value = parsed.dump();
      return true;
    }
    if (parsed.is_discarded() && type_name(raw) == "number")
      return refuse(str("field '", field.name,
                        "' is a number out of range: ", shortened(std::string(raw), 60)),
                    "write it as a string");
    return refuse(str("field '", field.name, "' is ", type_name(raw),
                      field.is_text ? ", not a string" : ", not a string or a number"),
                  "select another field, for example with --field");
  }

  bool take_words(const Json& words, const Field& field, std::string& value) {
    value.clear();
    for (const auto& one : words) {
      const bool is_number = !field.is_text && (one.is_number() || one.is_boolean());
      if (!is_number && (!one.is_string() || one.string().empty()))
        return refuse(
            str("field '", field.name, "' holds ", shortened(one.dump(), 60),
                " in its array of words"),
            "use strings in an array of words, and strings or numbers in an array of labels");
      append_word(is_number ? one.dump() : one.string(), value);
    }
    clean_text(value, lines_.number(), faults_);
    return true;
  }

  bool take_list(const Json& list, const Field& field, std::string& value) {
    Json names = Json::array();
    for (const auto& one : list) {
      if (one.is_structured() || one.is_null() || (one.is_string() && one.string().empty()))
        return refuse(
            str("field '", field.name, "' holds ", shortened(one.dump(), 60), " in its list"),
            "use strings or numbers in a list of labels");
      std::string name = one.is_string() ? one.string() : one.dump();
      clean_text(name, lines_.number(), faults_);
      names.push_back(std::move(name));
    }
    value = names.dump();
    return true;
  }

  bool take_text(std::string_view raw, const Field& field, std::string& value) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
    value = raw.substr(1, raw.size() - 2);
    clean_text(value, lines_.number(), faults_);
    if (value.find('\\') == std::string::npos && std::ranges::none_of(value, is_control))
      return true;
    std::string text = str('"', value, '"');
    auto parsed = Json::parse_or_discard(text);
    if (parsed.is_discarded())
      if (const std::size_t dropped = remove_lone_surrogates(text); dropped > 0) {
        parsed = Json::parse_or_discard(text);
        if (parsed.is_string())
          faults_({.kind = TextFault::Kind::surrogate, .line = lines_.number(), .bytes = dropped});
      }
    if (!parsed.is_string())
      return refuse(
          str("field '", field.name, "' is not a valid JSON string: ", shortened(text, 60)),
          "write a line break, a tab or a backslash in a string as \\n, \\t or \\\\");
    value = std::move(parsed.string());
    clean_text(value, lines_.number(), faults_);  // the string may contain "\\u0000"
    return true;
  }

  bool lack(std::string_view row, const Field& field, std::string& value) {
    value.clear();
    if (field.is_optional) return true;
    std::vector<std::string> names;
    for_each_member(row, [&](std::string_view key, std::string_view) { names.emplace_back(key); });
    return refuse(str("no field '", field.name, "'"), did_you_mean(field.name, names));
  }

  bool refuse(std::string what, std::string hint) {
    faults_({.line = lines_.number(), .what = std::move(what), .hint = std::move(hint)});
    return false;
  }

  LineReader lines_;
  std::vector<Field> fields_;
  std::vector<std::string_view> found_;  // raw values of the fields, views into line_
  std::string line_;
  FaultSink faults_;
};

}  // namespace

std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults) {
  return std::make_unique<JsonlRows>(path, fields, std::move(faults));
}

}  // namespace smelt::text
