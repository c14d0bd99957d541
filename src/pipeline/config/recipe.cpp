#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

std::string Recipe::origin(std::initializer_list<std::string> fields) const {
  std::string out = "recipe";
  for (const std::string& field : fields)
    if (const auto found = origins.find(field); found != origins.end()) {
      out = found->second;
      if (out == "--set") return out;
    }
  return out;
}

}  // namespace smelt::pipeline
