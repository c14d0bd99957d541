#include "base/field_names.h"

#include <algorithm>

namespace smelt {

std::string recipe_field(const std::string& name) {
  return name.find('.') == std::string::npos ? "train." + name : name;
}

std::string flag(const std::string& name) {
  std::string out = "--" + name;
  std::ranges::replace(out, '_', '-');
  return out;
}

}  // namespace smelt
