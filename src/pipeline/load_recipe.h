// Reads recipes: a YAML file and settings over it, with every value checked.
#pragma once

#include <string>
#include <vector>

#include "pipeline/recipe.h"

namespace smelt {

// One line of `smelt help recipe`.
struct RecipeField {
  std::string path;                       // "train.steps"
  std::string default_value;              // as it is written in YAML
  std::string help;                       // with the unit
  std::vector<std::string> choices = {};  // of an enumeration; empty: see field_choices()
};
// With the fields of one model.type. UsageError for an unknown one.
std::vector<RecipeField> recipe_fields(const std::string& type = "bert");

// Returns the hint for a path that is none of the `known` fields: the present name of a field that
// had this one, what another program's name stands for, or the nearest name.
std::string unknown_field_hint(const std::string& path, const std::vector<std::string>& known);

// The file, or the one that a run keeps in its folder (pipeline/kept_recipe.h), whose `out` is that
// folder then; then the settings ("train.steps=1000") over it. UsageError naming file and field for
// an unknown field (with the nearest name), a value of another type, or one out of range.
Recipe load_recipe(const std::string& path, const std::vector<std::string>& settings,
                   bool anew = false);

// Lets this process run the recipe's vocab.segment_command, for commands that make data or train.
// load_recipe() does so for a file and for a setting that the user gives, but not for the recipe in
// a run's folder, which may come from anyone.
void allow_segment_command(const Recipe& recipe);
// Passes three short lines through that command, if there is one, so that a run does not find hours
// later that it cannot be used. Throws UsageError as Segmenter::try_out() does.
void try_segment_command(const Recipe& recipe);

// The same of fields by their paths alone, which `origin` gives in messages, and settings over
// them.
Recipe recipe_of(const FieldValues& fields, const std::string& origin,
                 const std::vector<std::string>& settings = {}, bool anew = false);

}  // namespace smelt
