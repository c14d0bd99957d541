#include "cli/commands/field_help.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/number_format.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe.h"
#include "pipeline/objectives/field_choices.h"
#include "pipeline/objectives/load_recipe.h"

namespace smelt::cli {
namespace {

constexpr const char* kType = "model.type";

std::vector<std::string> type_names() { return pipeline::field_choices({kType, "", "", {}}); }

std::string section_of(const std::string& path) {
  const std::size_t dot = path.find('.');
  return dot == path.npos ? "" : path.substr(0, dot);
}

std::string help_of_field(const pipeline::RecipeField& field) {
  if (field.path != kType) return field.help;
  return str(field.help, "; one of ", join(type_names(), ", "),
             "; `smelt help recipe --type TYPE` lists the fields of each");
}

// A field of one or more model types. If types define it differently, the first definition is used.
struct FoundField {
  pipeline::RecipeField field;
  std::vector<std::string> types;
};

constexpr const char* kMarkdownHead =
    "# Recipe fields\n"
    "\n"
    "All fields of a recipe, with their defaults. `smelt help recipe --markdown` prints this "
    "page,\n"
    "`smelt help FIELD` explains one field. A field of a nested section is set on the command line "
    "by\n"
    "its whole path: `--set train.optimizer.learning_rate=1e-4`.\n";

// Escapes characters that Markdown would read as a column or an HTML tag.
std::string escaped_for_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::map<std::string, FoundField> fields_of_all_types() {
  std::map<std::string, FoundField> out;
  for (const std::string& type : type_names())
    for (const pipeline::RecipeField& field : pipeline::recipe_fields(type)) {
      FoundField& found = out[field.path];
      if (found.types.empty()) found.field = field;
      found.types.push_back(type);
    }
  return out;
}

// Returns the field's row of a Markdown table.
std::string markdown_row(const FoundField& found) {
  const pipeline::RecipeField& field = found.field;
  std::string help = help_of_field(field);
  const bool is_switch = field.default_value == "true" || field.default_value == "false";
  const auto choices = pipeline::field_choices(field);
  if (!choices.empty() && !is_switch && field.path != kType)
    help += str(" (one of ", join(choices, ", "), ")");
  if (found.types.size() < type_names().size())
    help += str(" (only for ", join(found.types, ", "), ")");
  return str("| `", field.path.substr(field.path.rfind('.') + 1), "` | `", field.default_value,
             "` | ", escaped_for_markdown(help), " |\n");
}

}  // namespace

std::string recipe_help(const std::string& type, const std::string& section) {
  std::string out;
  std::vector<std::string> sections;
  for (const pipeline::RecipeField& field : pipeline::recipe_fields(type)) {
    const std::string own = section_of(field.path);
    if (sections.empty() || sections.back() != own) sections.push_back(own);
    if (section.empty() || own == section || field.path.starts_with(section + "."))
      out += str(padded(field.path, 40), " ", padded(field.default_value, 13), " ",
                 help_of_field(field), "\n");
  }
  if (!out.empty()) return out;
  std::erase(sections, "");
  throw UsageError(str("help: a recipe has no section '", section, "'"),
                   did_you_mean(section, sections));
}

std::string recipe_markdown() {
  const auto all = fields_of_all_types();
  std::vector<std::string> sections;        // in recipe order
  std::map<std::string, std::string> rows;  // table rows by section
  std::set<std::string> seen;
  for (const std::string& type : type_names())
    for (const pipeline::RecipeField& field : pipeline::recipe_fields(type)) {
      if (!seen.insert(field.path).second) continue;
      const std::size_t dot = field.path.rfind('.');
      const std::string section = dot == field.path.npos ? "" : field.path.substr(0, dot);
      if (!rows.contains(section)) sections.push_back(section);
      rows[section] += markdown_row(all.at(field.path));
    }
  std::string out = kMarkdownHead;
  for (const std::string& section : sections)
    out += str("\n## ", section.empty() ? "Without a section" : section,
               "\n\n| field | default | meaning |\n|---|---|---|\n", rows[section]);
  return out;
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
    const bool is_section = std::ranges::any_of(
        known, [&](const std::string& name) { return name.starts_with(path + "."); });
    if (is_section) return recipe_help("bert", path);
    throw UsageError(str("help: no recipe field '", path, "'"),
                     pipeline::unknown_field_hint(path, known));
  }
  const auto& [field, types] = found->second;
  const auto choices = pipeline::field_choices(field);
  std::string out = str(path, "\n  ", help_of_field(field), "\n\n  section    ",
                        section_of(path).empty() ? "none" : section_of(path), "\n  default    ",
                        field.default_value, "\n");
  if (!choices.empty()) out += str("  choices    ", join(choices, ", "), "\n");
  if (types.size() < type_names().size()) out += str("  types      ", join(types, ", "), "\n");
  const std::string value = !choices.empty() ? choices.front() : field.default_value;
  return out + str("  example    smelt run recipe.yaml --set ", path, "=",
                   value == "\"\"" ? "VALUE" : value, "\n");
}

std::string field_named(const std::string& name) {
  std::string of_train, other;
  int in_train = 0;  // number of matches below train; several sections have a field `type`
  for (const auto& [path, field] : fields_of_all_types()) {
    if (!path.ends_with("." + name)) continue;
    if (path.starts_with("train.")) {
      ++in_train;
      of_train = path;
    } else if (other.empty()) {
      other = path;
    }
  }
  return in_train == 1 || other.empty() ? of_train : other;
}

std::vector<CompletedField> completed_fields() {
  std::vector<CompletedField> out;
  for (const auto& [path, found] : fields_of_all_types())
    out.push_back({path, pipeline::field_choices(found.field)});
  return out;
}

}  // namespace smelt::cli
