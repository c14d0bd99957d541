#include "io/formats/config.h"

namespace smelt::io {

const char* kind_name(const Json& value) {
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return "true or false";
  return value.is_number_integer() ? "a whole number" : "a number";
}

void check_kind(const Json& value, const Json& default_value, const std::string& name,
                const std::string& where) {
  const bool fits = default_value.is_string()           ? value.is_string()
                    : default_value.is_boolean()        ? value.is_boolean()
                    : default_value.is_number_integer() ? value.is_number_integer()
                                                        : value.is_number();
  if (!fits)
    throw UsageError(
        str(where, ": ", name, " is ", value.dump(), ", not ", kind_name(default_value)),
        "correct the value");
}

}  // namespace smelt::io
