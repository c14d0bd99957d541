#include "io/hub/hub_dataset.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "base/error.h"
#include "io/hub/hub_files.h"

namespace smelt::io {
namespace {

using Paths = std::vector<std::string>;

constexpr std::array<std::pair<const char*, std::array<const char*, 4>>, 3> kKeywords{
    {{"train", {"train", "training", nullptr, nullptr}},
     {"validation", {"validation", "valid", "dev", "val"}},
     {"test", {"test", "testing", "eval", "evaluation"}}}};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_data(const std::string& path) {
  const std::string name = file_name(path);
  for (const std::string_view part : split(path, '/'))
    if (part.starts_with('.') || part.starts_with("__")) return false;
  constexpr std::array kOther{"README.md",          "config.json",       "dataset_info.json",
                              "dataset_infos.json", "dataset_dict.json", "LICENSE"};
  return std::ranges::none_of(kOther, [&](const char* other) { return name == other; });
}

// Returns whether a keyword of the split occurs in the text, not within a longer word.
bool has_keyword(const std::string& text, const std::string& split) {
  const std::string lower = lower_case(text);
  const auto is_letter = [&](std::size_t at) {
    return at < lower.size() && std::isalpha(static_cast<unsigned char>(lower[at])) != 0;
  };
  for (const auto& [name, words] : kKeywords) {
    if (name != split) continue;
    for (const char* word : words) {
      if (word == nullptr) continue;
      const std::string_view found = word;
      for (std::size_t at = 0; (at = lower.find(found, at)) != std::string::npos; ++at)
        if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + found.size())) return true;
    }
  }
  return false;
}

bool in_folder(const std::string& path, const std::string& split) {
  const auto parts = smelt::split(path, '/');
  return std::any_of(parts.begin(), parts.end() - 1,
                     [&](std::string_view part) { return has_keyword(std::string(part), split); });
}

// Returns the split of data/{split}-NNNNN-of-NNNNN….ending, or "".
std::string sharded_split(const std::string& path) {
  constexpr std::string_view kFolder = "data/";
  if (!path.starts_with(kFolder) || path.find('/', kFolder.size()) != std::string::npos) return {};
  const std::string name = path.substr(kFolder.size());
  const std::size_t of = name.find("-of-");
  if (of == std::string::npos || of < 6 || name[of - 6] != '-') return {};
  const auto are_digits = [&](std::size_t begin) {
    return begin + 5 <= name.size() &&
           std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin),
                       name.begin() + static_cast<std::ptrdiff_t>(begin + 5),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  return are_digits(of - 5) && are_digits(of + 4) ? name.substr(0, of - 6) : "";
}

// Returns the ending of a file without that of a compression: ".jsonl" for "a.jsonl.gz".
std::string format_of(const std::string& path) {
  std::string name = lower_case(file_name(path));
  for (const char* packed : {".gz", ".bz2", ".xz", ".zst"})
    if (name.ends_with(packed)) name.resize(name.rfind('.'));
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(dot);
}

template <class Holds>
Paths selected(const Paths& paths, Holds&& holds) {
  Paths out;
  std::ranges::copy_if(paths, std::back_inserter(out), holds);
  return out;
}

// Keeps the files of the commonest format that smelt reads; Parquet if two are equally common.
Paths of_one_format(const Paths& paths) {
  std::map<std::string, int> count;
  for (const std::string& path : paths)
    for (const char* known : {".parquet", ".jsonl", ".json", ".csv", ".tsv", ".txt"})
      if (format_of(path) == known) ++count[known];
  std::string best;
  for (const auto& [format, files] : count)
    if (best.empty() || files > count[best] || (files == count[best] && format == ".parquet"))
      best = format;
  return selected(
      paths, [&](const std::string& path) { return !best.empty() && format_of(path) == best; });
}

// Returns the files of the split by their names.
Paths by_names(const Paths& paths, const std::string& split) {
  const bool sharded = std::ranges::any_of(
      paths, [](const std::string& path) { return !sharded_split(path).empty(); });
  if (sharded)
    return selected(paths, [&](const std::string& path) { return sharded_split(path) == split; });
  for (const auto& says : std::array<bool (*)(const std::string&, const std::string&), 2>{
           in_folder, [](const std::string& path, const std::string& of) {
             return has_keyword(file_name(path), of);
           }}) {
    const bool any = std::ranges::any_of(kKeywords, [&](const auto& keyword) {
      return std::ranges::any_of(paths,
                                 [&](const auto& path) { return says(path, keyword.first); });
    });
    if (any) return selected(paths, [&](const std::string& path) { return says(path, split); });
  }
  return split == "train" ? paths : Paths();
}

// Adds the files that match a pattern, or a list of patterns.
void add_patterns(const YAML::Node& node, const std::string& folder, const Paths& paths,
                  Paths& out) {
  std::vector<std::string> patterns;
  if (node.IsScalar()) patterns.push_back(node.Scalar());
  if (node.IsSequence())
    for (const auto& item : node)
      if (item.IsScalar()) patterns.push_back(item.Scalar());
  for (const std::string& pattern : patterns)
    for (const std::string& path : paths)
      if (matches_hub_pattern(str(folder, folder.empty() ? "" : "/", pattern), path) &&
          std::ranges::count(out, path) == 0)
        out.push_back(path);
}

// Returns the configuration that is marked as default, is named "default" or is the only one.
// Throws UsageError if there is none.
YAML::Node default_config(const YAML::Node& configs) {
  for (const auto& config : configs)
    if (config.IsMap() && config["default"] && config["default"].as<bool>(false)) return config;
  for (const auto& config : configs)
    if (config.IsMap() && config["config_name"].as<std::string>("") == "default") return config;
  if (configs.size() == 1) return configs[0];
  constexpr std::size_t kShown = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(configs.size(), kShown); ++i)
    if (configs[i].IsMap())
      names += str(names.empty() ? "" : ", ", configs[i]["config_name"].as<std::string>("?"));
  throw UsageError(str("hub: the dataset has ", configs.size(), " configurations and no default: ",
                       names, configs.size() > kShown ? ", ..." : ""),
                   "name the files of one of them, as in hf://datasets/ORG/NAME/FOLDER/*.parquet");
}

Paths of_config(const YAML::Node& config, const Paths& paths, const std::string& split) {
  if (!config.IsMap()) return {};
  const std::string folder = config["data_dir"] ? config["data_dir"].as<std::string>("") : "";
  const YAML::Node files = config["data_files"];
  Paths out;
  if (!files) {
    const Paths below = selected(paths, [&](const std::string& path) {
      return folder.empty() || path.starts_with(folder + "/");
    });
    return of_one_format(by_names(below, split));
  }
  const bool by_split = files.IsSequence() && files.size() > 0 && files[0].IsMap();
  if (!by_split && split == "train") add_patterns(files, folder, paths, out);
  if (by_split)
    for (const auto& part : files)
      if (part.IsMap() && part["split"].as<std::string>("") == split)
        add_patterns(part["path"], folder, paths, out);
  std::ranges::sort(out);
  return out;
}

// Returns `configs` of README.md's metadata, or nullopt.
std::optional<YAML::Node> configs_of(const std::string& readme) {
  const YAML::Node metadata = YAML::Load(front_matter(readme).first);
  if (!metadata.IsMap()) return std::nullopt;
  const YAML::Node configs = metadata["configs"];
  if (!configs || !configs.IsSequence() || configs.size() == 0) return std::nullopt;
  return configs;
}

}  // namespace

std::pair<std::string, std::string> front_matter(const std::string& readme) {
  const std::size_t begin = readme.starts_with("---\n")     ? 4U
                            : readme.starts_with("---\r\n") ? 5U
                                                            : 0U;
  if (begin == 0) return {"", readme};
  const std::size_t end = readme.find("\n---", begin - 1);
  if (end == std::string::npos) return {"", readme};
  const std::size_t text = std::min(readme.find('\n', end + 1), readme.size());
  return {readme.substr(begin, end + 1 - begin), readme.substr(std::min(text + 1, readme.size()))};
}

std::vector<std::string> dataset_split(const std::vector<std::string>& paths,
                                       const std::string& readme, const std::string& split) try {
  Paths data = selected(paths, is_data);
  std::ranges::sort(data);
  if (const auto configs = configs_of(readme))
    return of_config(default_config(*configs), data, split);
  return of_one_format(by_names(data, split));
} catch (const YAML::Exception& error) {
  throw UsageError(
      str("hub: README.md of the dataset: line ", error.mark.line + 2, ": ", error.msg),
      "name the files, as in hf://datasets/ORG/NAME/data/*.parquet");
}

}  // namespace smelt::io
