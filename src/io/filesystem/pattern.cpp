// Expands comma-separated lists and glob patterns (file.h).
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/object_store.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_files.h"

namespace smelt::io {
namespace {

constexpr std::string_view kWildcards = "*?[";

std::vector<std::string> match_local(const std::string& pattern) {
  ::glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

// Returns the objects that match a pattern. Lists the last folder before the first wildcard, and
// its subfolders only if the pattern has a '/' after that wildcard.
std::vector<std::string> match_remote(const std::string& pattern, std::string_view what) {
  const Place place = resolve(pattern);
  const std::string& key = place.path.key;
  const std::size_t wildcard = key.find_first_of(kWildcards);
  const std::size_t folder_end = key.rfind('/', wildcard);
  const std::string folder = folder_end == std::string::npos ? "" : key.substr(0, folder_end);
  const Depth depth =
      key.find('/', wildcard) == std::string::npos ? Depth::this_folder : Depth::all_below;
  std::vector<std::string> paths;
  for (const auto& info : list_objects(place, folder, depth, what)) {
    const std::string name = info.path().substr(place.path.bucket.size() + 1);
    if (::fnmatch(key.c_str(), name.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0)
      paths.push_back(place.path.with_key(name));
  }
  return paths;
}

// Returns whether a path is a pattern.
bool has_wildcard(const std::string& path) {
  if (!is_remote(path) || is_hub_path(path))
    return path.find_first_of(kWildcards) != std::string::npos;
  const RemotePath parts = parse_remote(path);
  return !parts.is_literal && parts.key.find_first_of(kWildcards) != std::string::npos;
}

// Returns the split of a dataset that a recipe field reads.
std::string split_of_field(std::string_view field) {
  return field == "data.validation" ? "validation" : field == "data.test" ? "test" : "train";
}

// Throws an error about a pattern without matches. `patterns` is the list that contains it.
[[noreturn]] void throw_no_match(const std::string& pattern, const std::string& patterns,
                                 std::string_view what) {
  if (const auto comma = patterns.find(','); comma != patterns.npos && exists(patterns)) {
    std::string written = patterns;
    std::ranges::replace(written, ',', '?');
    throw UsageError(
        str(what, ": no file '", pattern, "': commas separate names, but the file name '", patterns,
            "' has a comma"),
        str("write ? for each comma in a name: '", written, "'"));
  }
  if (!has_wildcard(pattern)) throw_missing(what, pattern);
  throw UsageError(str(what, ": no file matches '", pattern, "'"),
                   what.find('.') == std::string_view::npos
                       ? "check the pattern, and quote it so that the shell does not expand it"
                       : "check the pattern; it is relative to the folder in which smelt runs");
}

}  // namespace

std::vector<std::string> match_pattern(const std::string& pattern, std::string_view what) {
  if (has_wildcard(pattern)) {
    if (is_hub_path(pattern)) return hub_matches(pattern);
    auto found = is_remote(pattern) ? match_remote(pattern, what) : match_local(pattern);
    std::erase_if(found, [](const std::string& path) { return place_of_partial(path); });
    return found;
  }
  if (is_hub_dataset(pattern)) return hub_dataset_files(pattern, split_of_field(what));
  if (!exists(pattern)) return {};
  return {pattern};
}

std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what) {
  return expand_patterns(patterns, what,
                         [&](const std::string& pattern) { return match_pattern(pattern, what); });
}

std::vector<std::string> expand_files(std::string_view patterns, std::string_view what) {
  std::vector<std::string> files = expand_patterns(patterns, what);
  for (const std::string& path : files)
    if (!is_remote(path) && std::filesystem::is_directory(path))
      throw UsageError(str(what, ": ", path, " is a folder"),
                       str("name the files in it, as '", join_path(path, "*"), "'"));
  return files;
}

std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what,
                                         const MatchPattern& match) {
  std::vector<std::string> paths;
  for (const std::string_view piece : split(patterns, ',')) {
    const std::string pattern(trim(piece));
    if (pattern.empty()) continue;
    const auto found = match(pattern);
    if (found.empty()) throw_no_match(pattern, std::string(patterns), what);
    paths.insert(paths.end(), found.begin(), found.end());
  }
  if (paths.empty())
    throw UsageError(str(what, ": no input files"), "give at least one path or pattern");
  return paths;
}

}  // namespace smelt::io
