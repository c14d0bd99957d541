// Reads recipes from YAML files and settings, and checks their values.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// A field as `smelt help recipe` lists it.
struct RecipeField {
  std::string path;           // "train.steps"
  std::string default_value;  // as written in YAML
  std::string help;           // includes the unit
  // Possible values of an enumeration. For other fields empty; see field_choices().
  std::vector<std::string> choices = {};
};
// Returns the fields of a recipe of one model.type. Throws UsageError if the type is unknown.
std::vector<RecipeField> recipe_fields(const std::string& type = "bert");

// Returns a hint for a path that is not one of the `known` fields. It suggests the current name of
// a renamed field, the equivalent of another program's field, or the most similar name.
std::string unknown_field_hint(const std::string& path, const std::vector<std::string>& known);

// Loads a recipe from a file or from a run's folder (pipeline/config/kept_recipe.h); `out` is then
// that folder. `settings` such as "train.steps=1000" override its fields. Throws UsageError that
// names the file and the field if a field is unknown (the hint is the nearest name), has a value of
// the wrong type, or is out of range.
Recipe load_recipe(const std::string& path, const std::vector<std::string>& settings,
                   bool anew = false);

// Allows this process to run the recipe's vocab.segment_command, for commands that make data or
// train. load_recipe() does so for a recipe file and for a setting of the user, but not for the
// recipe in a run's folder, which may come from anyone.
void allow_segment_command(const Recipe& recipe);
// Runs vocab.segment_command, if it is set, on three short lines, so that errors appear before
// hours of other work. Throws UsageError as Segmenter::try_out() does.
void try_segment_command(const Recipe& recipe);

// Makes a recipe from field values; `settings` override them. Messages name `origin` as the source
// of the fields.
Recipe recipe_of(const FieldValues& fields, const std::string& origin,
                 const std::vector<std::string>& settings = {}, bool anew = false);

}  // namespace smelt::pipeline
