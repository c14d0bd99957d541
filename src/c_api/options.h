// Reads the JSON options of the functions in include/smelt.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/formats/json_field.h"

struct smelt_stop;

namespace smelt::c_api {

class Options {
 public:
  // Parses the JSON object; null is an empty one. `where` names the function in messages. Throws
  // UsageError if it is not an object or has a member that is not in `known`.
  Options(const char* json, std::string where, std::initializer_list<const char*> known);

  bool is_set(const char* name) const { return all_.contains(name); }
  bool flag(const char* name) const;  // false if not set
  std::string text(const char* name, std::string otherwise) const;
  // Throws UsageError if the value is less than `least`.
  std::int64_t number(const char* name, std::int64_t otherwise, std::int64_t least) const;
  std::vector<std::string> texts(const char* name) const;
  std::vector<std::int64_t> numbers(const char* name) const;
  std::optional<bool> flag_if_set(const char* name) const;

 private:
  io::JsonField field(const char* name) const;

  std::string where_;
  Json all_;
};

// Throws UsageError if the pointer is null. `name` names the argument.
void check_pointer(const void* pointer, std::string_view name);
// Throws Stopped if the flag is raised; a null flag never is.
void check_stop(const smelt_stop* stop);

}  // namespace smelt::c_api
