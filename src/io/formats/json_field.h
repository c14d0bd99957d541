// Typed access to fields of a JSON file, with errors that name the field.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace smelt::io {

// A JSON file or one of its fields, named by its path such as "model.vocab". A missing field is
// null. The file, `path` and `hint` must outlive this object.
class JsonField {
 public:
  // `hint` is the hint of error messages about the field.
  JsonField(const Json& file, std::string_view path, std::string_view hint)
      : JsonField(file, "", path, hint) {}

  JsonField operator[](std::string_view key) const;
  bool is_null() const { return value_.is_null(); }
  const Json& value() const { return value_; }

  // Returns the value as a T. Throws UsageError if it has another type.
  template <class T>
  T as() const try {
    return value_.get<T>();
  } catch (const JsonError&) {
    throw_unexpected("");
  }
  template <class T>
  T as(T where_null) const {
    return is_null() ? std::move(where_null) : as<T>();
  }
  std::optional<bool> as_switch() const;
  // Returns an integer. Throws UsageError if the field is not an integer or not in T's range. T has
  // at most 64 bits.
  template <class T>
  std::optional<T> as_number() const {
    if (is_null()) return std::nullopt;
    const bool fits =
        value_.is_number_unsigned()
            ? std::in_range<T>(value_.get<std::uint64_t>())
            : value_.is_number_integer() && std::in_range<T>(value_.get<std::int64_t>());
    if (!fits) refuse("not an integer in the valid range");
    return value_.get<T>();
  }
  // Returns an integer, or `where_null` if the field is missing. Throws UsageError if the integer
  // is less than `least`.
  std::int64_t as_integer(std::int64_t where_null, std::int64_t least) const;
  // Throws UsageError "<path>: unknown <kind> '<name>'" for a member that is not in `known`.
  void check_members(std::string_view kind, std::span<const std::string> known) const;
  // Returns a list of texts; empty if the field is missing.
  std::vector<std::string> as_texts() const;
  // Throws UsageError unless the field is this string.
  void expect(std::string_view wanted) const;
  // Throws UsageError "<path>: <field> is <value><wanted>".
  [[noreturn]] void throw_unexpected(std::string_view wanted) const;
  // Throws UsageError "<path>: <field> is <problem>", or "<path>: <problem>" for the whole file.
  [[noreturn]] void refuse(std::string_view problem) const;

 private:
  JsonField(const Json& value, std::string name, std::string_view path, std::string_view hint)
      : value_(value), name_(std::move(name)), path_(path), hint_(hint) {}

  const Json& value_;
  std::string name_;
  std::string_view path_, hint_;
};

}  // namespace smelt::io
