#include "cli/commands/field_help.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/number_format.h"
#include "pipeline/field_choices.h"
#include "pipeline/objective_type.h"
#include "pipeline/recipe.h"

namespace smelt {
namespace {

constexpr const char* kType = "model.type";

std::vector<std::string> type_names() { return field_choices(kType, ""); }

std::string section_of(const std::string& path) {
  const std::size_t dot = path.find('.');
  return dot == path.npos ? "" : path.substr(0, dot);
}

std::string help_of_field(const RecipeField& field) {
  if (field.path != kType) return field.help;
  return str(field.help, "; one of ", join(type_names(), ", "),
             "; `smelt help recipe --type TYPE` lists the fields of each");
}

// A field of one or more types of model. Of a field that differs by type the first is kept.
struct FoundField {
  RecipeField field;
  std::vector<std::string> types;
};

std::map<std::string, FoundField> fields_of_all_types() {
  std::map<std::string, FoundField> out;
  for (const std::string& type : type_names())
    for (const RecipeField& field : recipe_fields(type)) {
      FoundField& found = out[field.path];
      if (found.types.empty()) found.field = field;
      found.types.push_back(type);
    }
  return out;
}

}  // namespace

std::string recipe_help(const std::string& type, const std::string& section) {
  std::string out;
  std::vector<std::string> sections;
  for (const RecipeField& field : recipe_fields(type)) {
    const std::string own = section_of(field.path);
    if (sections.empty() || sections.back() != own) sections.push_back(own);
    if (section.empty() || own == section)
      out += str(padded(field.path, 35), " ", padded(field.default_value, 13), " ",
                 help_of_field(field), "\n");
  }
  if (!out.empty()) return out;
  std::erase(sections, "");
  throw UsageError(str("help: a recipe has no section '", section, "'"),
                   did_you_mean(section, sections));
}

bool names_recipe_field(const std::string& word) {
  return word == "out" || word.find('.') != word.npos;
}

std::string field_help(const std::string& path) {
  const auto all = fields_of_all_types();
  const auto found = all.find(path);
  if (found == all.end()) {
    std::vector<std::string> known;
    for (const auto& [name, field] : all) known.push_back(name);
    const auto nearest = nearest_name(path, known);
    throw UsageError(
        str("help: no recipe field '", path, "'"),
        nearest ? str("did you mean '", *nearest, "'?") : "smelt help recipe lists the fields");
  }
  const auto& [field, types] = found->second;
  const auto choices = field_choices(path, field.default_value);
  std::string out = str(path, "\n  ", help_of_field(field), "\n\n  section    ",
                        section_of(path).empty() ? "none" : section_of(path), "\n  default    ",
                        field.default_value, "\n");
  if (!choices.empty()) out += str("  choices    ", join(choices, ", "), "\n");
  if (types.size() < type_names().size()) out += str("  of types   ", join(types, ", "), "\n");
  const std::string value = !choices.empty() ? choices.front() : field.default_value;
  return out + str("  example    smelt run recipe.yaml --set ", path, "=",
                   value == "\"\"" ? "VALUE" : value, "\n");
}

std::string field_named(const std::string& name) {
  std::string found;
  for (const auto& [path, field] : fields_of_all_types())
    if (path.ends_with("." + name) && (found.empty() || path.starts_with("train."))) found = path;
  return found;
}

std::vector<CompletedField> completed_fields() {
  std::vector<CompletedField> out;
  for (const auto& [path, found] : fields_of_all_types())
    out.push_back({path, field_choices(path, found.field.default_value)});
  return out;
}

}  // namespace smelt
