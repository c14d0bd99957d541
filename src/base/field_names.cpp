#include "base/field_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace smelt {
namespace {

// Returns whether the name begins with the name of a recipe section, such as "vocab.size", or with
// `train`.
bool has_section(const std::string& name) {
  static constexpr std::array<std::string_view, 9> kSections{
      "text.", "vocab.", "data.", "model.", "train.", "eval.", "track.", "distill.", "compress."};
  return std::ranges::any_of(kSections,
                             [&](std::string_view section) { return name.starts_with(section); });
}

}  // namespace

std::string recipe_field(const std::string& name) {
  return has_section(name) ? name : "train." + name;
}

std::string flag(const std::string& name) {
  // Flags whose name differs from that of the field.
  static const std::map<std::string_view, std::string> kFlags{
      {"memory.remat_policy", "--save"},
      {"parallelism.rules", "--mesh-rules"},
      {"parallelism.shard_optimizer_state", "--split-slots"},
      {"gradient_accumulation_steps", "--micro-batches"},
      {"precision.compute", "--precision"}};
  if (const auto found = kFlags.find(name); found != kFlags.end()) return found->second;
  std::string out = "--" + (has_section(name) ? name : name.substr(name.rfind('.') + 1));
  std::ranges::replace(out, '_', '-');
  return out;
}

}  // namespace smelt
