#include "pipeline/objectives/objective_registry.h"

#include "base/error.h"
#include "base/nearest_name.h"
#include "pipeline/objectives/objectives.h"

namespace smelt::pipeline {
namespace {

std::map<std::string, ObjectiveType> built_in() {
  std::map<std::string, ObjectiveType> types;
  for (const ObjectiveType& type : all_objectives()) types.emplace(type.name, type);
  return types;
}

std::map<std::string, ObjectiveType>& all() {
  static std::map<std::string, ObjectiveType> types = built_in();
  return types;
}

}  // namespace

void add_objective_type(ObjectiveType type) {
  const std::string name = type.name;
  const bool added = all().emplace(name, std::move(type)).second;
  CHECK(added, name);
}

std::vector<const ObjectiveType*> objective_types() {
  std::vector<const ObjectiveType*> out;
  for (const auto& [name, type] : all()) out.push_back(&type);
  return out;
}

const ObjectiveType& objective_type(const std::string& name, const std::string& where) {
  const auto found = all().find(name);
  if (found != all().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, type] : all()) known.push_back(other);
  throw UsageError(str(where, ": model.type is '", name, "'"), did_you_mean(name, known));
}

}  // namespace smelt::pipeline
