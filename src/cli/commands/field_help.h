// Help texts of recipe fields.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

// Returns the fields of a model.type, one per line. If `section` is given, such as "train" or
// "train.optimizer", returns only its fields. Throws UsageError for an unknown type or section.
std::string recipe_help(const std::string& type, const std::string& section = "");

// Returns the text of docs/reference/recipe.md: the fields of all model types in tables.
std::string recipe_markdown();

// Returns true if a word of `smelt help` names a recipe field: "train.steps" or "out".
bool names_recipe_field(const std::string& word);

// Returns a field with its section, default and choices, or the fields of a nested section. Throws
// UsageError for an unknown field.
std::string field_help(const std::string& path);

// Returns the field of this name in any section, "train.steps" for "steps"; else "".
std::string field_named(const std::string& name);

// A recipe field for shell completion.
struct CompletedField {
  std::string path;
  std::vector<std::string> choices;
};
std::vector<CompletedField> completed_fields();

}  // namespace smelt::cli
