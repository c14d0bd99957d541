#include "cli/job_recipe.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "cloud/job_journal.h"
#include "recipe/dry_run.h"
#include "recipe/objective_type.h"
#include "recipe/row_commands.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

std::string judge(const Recipe& recipe) {
  if (const std::string misfit = dry_run(recipe).misfit; !misfit.empty())
    throw UsageError(misfit, "smelt plan says where and how it fits");
  return str(recipe.type->name, ", ", recipe.train.steps, " steps of ", recipe.train.batch_size,
             " on ", recipe.train.devices, " x ", recipe.train.device);
}

constexpr const char* kLists[] = {"text.input", "data.records",    "data.heldout",
                                  "data.train", "data.validation", "data.test"};
constexpr const char* kPlaces[] = {"vocab.file", "data.glue_folder", "model.like", "train.init",
                                   "distill.teacher"};

bool is_one_of(const auto& names, const std::string& name) {
  return std::ranges::find(names, name) != std::end(names);
}

class Stager {
 public:
  Stager(std::string folder, StagedRecipe& out) : folder_(std::move(folder)), out_(out) {}

  // What the field is in the bucket.
  std::string list(const std::string& field, const std::string& value) {
    if (value.empty() || is_row_command(value)) return value;
    std::vector<std::string> there;
    std::set<std::string> names;
    for (const std::string& file : expand_files(value, field)) {
      std::string name = path_name(file);
      if (!names.insert(name).second) name = str(names.size(), "-", there.size(), "-", name);
      there.push_back(is_remote(file) ? file : put(file, join_path(place(field), name)));
    }
    return join(there, ",");
  }
  // A file, a folder, or, of a checkpoint, the beginning of its files' names: what lies beside it
  // may be read, too.
  std::string one(const std::string& field, const std::string& value) {
    if (value.empty() || is_remote(value)) return value;
    if (is_folder(value)) return tree(value, place(field));
    if (field == "vocab.file") return put(value, join_path(place(field), path_name(value)));
    const std::string above = parent_path(value);
    return join_path(tree(above.empty() ? "." : above, place(field)), path_name(value));
  }

 private:
  std::string place(const std::string& field) const { return join_path(folder_, "input/" + field); }
  std::string put(const std::string& file, const std::string& to) {
    (void)file_size(file);  // it is there
    out_.files.emplace_back(file, to);
    return to;
  }
  std::string tree(const std::string& from, const std::string& to) {
    for (const std::string& name : list_folder(from)) {
      const std::string path = join_path(from, name), there = join_path(to, name);
      is_folder(path) ? tree(path, there) : put(path, there);
    }
    return to;
  }

  std::string folder_;
  StagedRecipe& out_;
};

}  // namespace

// A recipe says what was set and no more: what was not goes by rules of its own.
StagedRecipe staged_recipe(const Recipe& r, const std::string& folder) {
  StagedRecipe out;
  Stager stager(folder, out);
  std::map<std::string, std::string> sections;
  for (const std::string& field : r.set) {
    const std::size_t dot = field.find('.');
    const std::string section = dot == std::string::npos ? "" : field.substr(0, dot);
    const std::string name = dot == std::string::npos ? field : field.substr(dot + 1);
    nlohmann::json value = r.sections.at(section).at(name);
    if (field == "out") continue;
    if (is_one_of(kLists, field)) value = stager.list(field, value.get<std::string>());
    if (is_one_of(kPlaces, field)) value = stager.one(field, value.get<std::string>());
    sections[section] += str(section.empty() ? "" : "  ", name, ": ", value.dump(), "\n");
  }
  out.text = str("out: ", nlohmann::json(join_path(folder, "run")).dump(), "\n");
  for (const auto& [section, lines] : sections)
    out.text += (section.empty() ? "" : section + ":\n") + lines;
  return out;
}

DoctorCheck recipe_check(const std::string& path, const std::vector<std::string>& settings) {
  return looked_at("recipe", [&] {
    const Recipe recipe = load_recipe(path, settings);
    if (!exists(join_path(recipe.out, kJournalName))) return judge(recipe);
    // The job's results, or those that an earlier one had: it does not run there.
    std::vector<std::string> elsewhere = settings;
    elsewhere.push_back("out=" + join_path(recipe.out, "run"));
    return judge(load_recipe(path, elsewhere));
  });
}

}  // namespace smelt
