#include "pipeline/config/kept_recipe.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/hub/hub_files.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/row_commands.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kKeptName = "recipe.yaml";

bool keeps_recipe(const std::string& folder) {
  return io::exists(io::join_path(folder, ".stages")) && io::exists(kept_recipe_path(folder));
}

// Returns the path independent of the working directory. A path on the Hugging Face Hub gets the
// commit of its revision, so that a resumed run reads the same files.
std::string absolute_path(const std::string& path) {
  if (io::is_hub_path(path)) return io::hub_at_commit(path);
  if (path.empty() || io::is_remote(path)) return path;
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string absolute_paths(const std::string& patterns) {
  if (is_row_command(patterns)) return patterns;
  std::vector<std::string> out;
  for (const std::string_view piece : split(patterns, ','))
    if (const std::string pattern(trim(piece)); !pattern.empty())
      out.push_back(absolute_path(pattern));
  return join(out, ",");
}

// Returns the lines of a section's fields. "optimizer.type" becomes `type` in a nested section. The
// fields of a nested section are adjacent because the object is sorted by name.
std::string section_yaml(const Json& fields, const std::string& indent) {
  std::string out, open;
  for (const auto& [name, value] : fields.items()) {
    const std::size_t dot = name.find('.');
    const std::string nested = dot == name.npos ? "" : name.substr(0, dot);
    if (!nested.empty() && nested != open) out += str(indent, nested, ":\n");
    open = nested;
    // JSON text is also YAML.
    out += str(indent, nested.empty() ? "" : "  ", nested.empty() ? name : name.substr(dot + 1),
               ": ", value.dump(), "\n");
  }
  return out;
}

void add_scalars(const YAML::Node& node, const std::string& prefix, FieldValues& out) {
  for (const auto& item : node) {
    const std::string path = prefix + item.first.as<std::string>();
    if (item.second.IsMap()) add_scalars(item.second, path + ".", out);
    if (item.second.IsScalar()) out[path] = item.second.Scalar();
  }
}

}  // namespace

FieldValues recipe_file_fields(const std::string& file) {
  FieldValues out;
  add_scalars(YAML::Load(io::read_file(file, io::kSmallFileBytes)), "", out);
  return out;
}

std::string kept_recipe_path(const std::string& run) { return io::join_path(run, kKeptName); }

void check_stored_type(const Recipe& r) {
  if (r.anew || io::is_remote(r.out) || !keeps_recipe(r.out)) return;
  const YAML::Node kept = YAML::Load(io::read_file(kept_recipe_path(r.out), io::kSmallFileBytes));
  const YAML::Node type = kept["model"] ? kept["model"]["type"] : YAML::Node();
  if (!type || !type.IsScalar() || type.Scalar() == r.type->name) return;
  throw UsageError(str(r.origin({"out"}), ": out: ", r.out, " contains a run of model.type ",
                       type.Scalar(), ", but this recipe has model.type ", r.type->name),
                   "choose another folder with --set out=…");
}

void keep_recipe(const Recipe& r) {
  auto sections = r.sections;
  sections[""]["out"] = absolute_path(r.out);
  sections["text"]["input"] = absolute_paths(r.text.input);
  sections["vocab"]["file"] = absolute_path(r.vocab.file);
  for (const char* name : {"records", "heldout", "train", "validation", "test"})
    if (auto paths = sections["data"].find(name); paths != sections["data"].end())
      *paths = absolute_paths(paths->get<std::string>());
  if (auto glue = sections["data"].find("glue_folder"); glue != sections["data"].end())
    *glue = absolute_path(glue->get<std::string>());
  if (auto like = sections["model"].find("like"); like != sections["model"].end())
    *like = absolute_path(like->get<std::string>());
  sections["train"]["init_from"] = absolute_path(r.train.init_from);
  sections["distill"]["teacher"] = absolute_path(r.distill.teacher);
  // The settings of an existing vocabulary apply unless the recipe sets these fields.
  if (!r.vocab.file.empty() || !r.train.init_from.empty())
    for (const char* name : {"lower_case", "strip_accents", "split_chinese"})
      if (!r.is_set(str("vocab.", name))) sections["vocab"].erase(name);
  std::ostringstream out;
  out << "# The recipe of this folder. `smelt run FOLDER` resumes the run; --set changes fields of "
         "this\n"
         "# recipe, too. `smelt help recipe` describes them.\n";
  for (const auto& [section, fields] : sections) {
    if (!section.empty()) out << section << ":\n";
    out << section_yaml(fields, section.empty() ? "" : "  ");
  }
  io::write_file(kept_recipe_path(r.out), out.str());
}

std::optional<std::string> run_named_by(const std::string& path) {
  if (io::is_folder(path) && keeps_recipe(path)) return path;
  const std::string name = io::path_name(path);
  if (name != "model" && name != kKeptName) return std::nullopt;
  std::string whole = path;
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  const std::string above = io::parent_path(whole), folder = above.empty() ? "." : above;
  return keeps_recipe(folder) ? std::optional(folder) : std::nullopt;
}

}  // namespace smelt::pipeline
