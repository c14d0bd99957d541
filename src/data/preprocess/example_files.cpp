#include "data/preprocess/example_files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/parallel.h"
#include "data/input_pipeline/description.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_index_file.h"
#include "data/preprocess/require.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"

namespace smelt::data {
namespace {

// Each shard needs a separate key range, and each range a buffer.
constexpr std::size_t kMostFiles = 4096;
constexpr int kRequests = 16;  // concurrent requests
constexpr std::string_view kIndexMagic = "SMELTIDX";

std::string key_of(const std::string& path) {
  return io::is_remote(path) ? io::parse_remote(path).key : path;
}

std::vector<std::string> shard_keys(const std::string& path, std::int64_t shards,
                                    ShardNames names) {
  const std::string key = key_of(path);
  std::vector<std::string> keys;
  if (names == ShardNames::original) {
    for (std::int64_t shard = 0; shard < shards; ++shard)
      keys.push_back(str(key, "-", shard, "-of-", shards));
    return keys;
  }
  const std::size_t name = key.rfind('/') + 1;
  const std::size_t dot = name + std::min(key.size() - name, key.substr(name).rfind('.'));
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    std::array<char, 64> number;
    std::snprintf(number.data(), number.size(), "-%05lld-of-%05lld", static_cast<long long>(shard),
                  static_cast<long long>(shards));
    keys.push_back(key.substr(0, dot) + number.data() + key.substr(dot));
  }
  return keys;
}

bool is_description(const std::string& path) {
  if (io::file_size(path) > io::kSmallFileBytes) return false;
  const auto json = Json::parse_or_discard(io::read_file(path));
  return json.is_object() && json.contains("kind") && json.contains("files");
}

bool is_index(const std::string& path) {
  std::array<char, kIndexMagic.size()> begin{};
  return io::RandomAccessFile(path).read_at(0, begin) == begin.size() &&
         std::string_view(begin.data(), begin.size()) == kIndexMagic;
}

void check_output(const ExampleFiles& files, const std::string& path) {
  if (is_device(path)) return;
  const auto found = io::file_status(path);
  require(!found || !found->is_folder, str("output ", path, " is a folder"), "name a file in it");
  require(files.overwrite || !found, str("output ", path, " exists already"),
          "choose another name, remove the file, or use --overwrite");
}

void check_own_folder(const ExampleFiles& files, const std::string& work) {
  const std::string parent = io::parent_path(files.outputs.front());
  const std::string folder = parent.empty() ? "." : parent;
  std::set<std::string> ours;
  for (const std::string& path : files.outputs) ours.insert(io::path_name(path));
  for (const std::string& name : io::list_folder(folder)) {
    if (name == work) continue;
    require(files.overwrite, str("output folder ", folder, " is not empty: it holds ", name),
            str("choose another folder, or use --overwrite, which replaces ", files.own_name,
                "-* and ", kFolderDescription, " there and touches nothing else"));
    const std::string place(
        io::place_of_partial(name).value_or(name));  // left by an interrupted run
    require(!name.starts_with(files.own_name) || ours.contains(place),
            str("output folder ", folder, " holds ", name, ", which is not one of the ",
                files.outputs.size(), " files that are written, and would be read with them"),
            "move it away, or choose another folder");
  }
}

// Returns "train-*.tfrecord" for "train-00000-of-00002.tfrecord", which matches all sets of that
// name; nullopt for a file that is not part of a set.
std::optional<std::string> pattern_of_set(const std::string& name) {
  static const std::regex kShard(R"((.*-)\d{5}-of-\d{5}(\..*)?)");
  std::smatch parts;
  if (!std::regex_match(name, parts, kShard)) return std::nullopt;
  return str(parts[1], "*", parts[2]);
}

// Throws UsageError if the output folder has files of the same name with another number of shards,
// because a pattern would match both sets.
void check_no_other_set(const ExampleFiles& files) {
  const auto pattern = pattern_of_set(io::path_name(files.outputs.front()));
  if (files.outputs.size() == 1 || !pattern) return;
  const std::string parent = io::parent_path(files.outputs.front());
  const std::string folder = parent.empty() ? "." : parent;
  std::set<std::string> ours;
  for (const std::string& path : files.outputs) ours.insert(io::path_name(path));
  for (const std::string& name : io::list_folder(folder))
    require(ours.contains(name) || pattern_of_set(name) != pattern,
            str("output folder ", folder, " holds ", name, ", which is not one of the ",
                ours.size(), " files that are written, and would be read with them as ", *pattern),
            "move it away, or choose another name");
}

void check_companion(const std::string& path, bool ours, bool replaces, const std::string& of,
                     std::string_view what) {
  require(ours, str(path, " is not ", what, ", but would be replaced by the one of ", of),
          "move it away, or choose another name");
  require(replaces, str(path, " exists already, but ", of, " does not"),
          "choose another name, remove the file, or use --overwrite");
}

void check_description_place(const ExampleFiles& files, bool resumed) {
  const std::string path = files.description();
  if (files.described && io::exists(path))
    check_companion(path, is_description(path), files.overwrite || resumed, files.outputs.front(),
                    "a description of examples");
}

}  // namespace

std::string ExampleFiles::description() const {
  const std::string& first = outputs.front();
  return own_name.empty() ? io::append_to_path(first, ".json")
                          : io::join_path(io::parent_path(first), kFolderDescription);
}

std::vector<std::string> ExampleFiles::all() const {
  std::vector<std::string> paths = outputs;
  if (indexes)
    for (const std::string& path : outputs) paths.push_back(record_index_path(path));
  if (described) paths.push_back(description());
  return paths;
}

std::vector<std::string> shards_of(const std::string& path, std::int64_t shards, ShardNames names) {
  std::vector<std::string> paths = shard_keys(path, shards, names);
  if (io::is_remote(path))
    for (std::string& key : paths) key = io::parse_remote(path).with_key(key);
  return paths;
}

std::vector<std::string> output_names(const std::string& list, std::int64_t shards,
                                      ShardNames names) {
  require(shards >= 1, str("shards ", shards, " is less than 1"), "1 is one file");
  std::vector<std::string> paths;
  for (const std::string_view piece : smelt::split(list, ',')) {
    const std::string path(trim(piece));
    if (path.empty()) continue;
    require(key_of(path).find_first_of("*?") == std::string::npos,
            str("output ", path, " is a pattern"),
            "name the output files one by one, separated by commas, or one file and --shards");
    paths.push_back(path);
  }
  require(!paths.empty(), "no output file", "name at least one output file");
  require(shards == 1 || paths.size() == 1,
          str(shards, " shards for ", paths.size(), " output files; shards split only one"),
          "name one file, or leave out --shards");
  const std::size_t count = std::max(paths.size(), static_cast<std::size_t>(shards));
  require(count <= kMostFiles, str(count, " output files are more than ", kMostFiles),
          "write fewer files");
  return shards == 1 ? paths : shards_of(paths.front(), shards, names);
}

void check_apart(const ExampleFiles& files, const std::vector<std::string>& inputs) {
  std::map<std::string, std::string> read, written;
  for (const std::string& path : inputs) read.emplace(io::canonical_path(path), path);
  for (const std::string& path : files.all()) {
    const std::string name = io::canonical_path(path);
    require(!read.contains(name), str("output ", path, " is also an input, which it would replace"),
            "write to another file");
    const auto [other, fresh] = written.emplace(name, path);
    require(fresh,
            str("output ", path, " is given twice",
                other->second == path ? "" : str(", also as ", other->second)),
            "name each file once");
  }
}

bool is_device(const std::string& path) {
  if (io::is_remote(path)) return false;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

void check_free(const ExampleFiles& files, const std::vector<bool>& ours) {
  const std::string& first = files.outputs.front();
  io::check_bucket(first);
  const bool resumed = !ours.empty();
  // Listing the folder once replaces thousands of requests.
  if (!resumed && !files.own_name.empty()) {
    check_own_folder(files, str(io::path_name(first), kWorkSuffix));
    return check_description_place(files, resumed);
  }
  check_no_other_set(files);
  for_each_file(files.outputs.size(), first, [&](std::size_t i) {
    const std::string& path = files.outputs[i];
    if (resumed && ours[i]) return;
    check_output(files, path);
    const std::string index = record_index_path(path);
    if (files.indexes && io::exists(index))
      check_companion(index, is_index(index), files.overwrite || resumed, path,
                      "an index of records");
  });
  check_description_place(files, resumed);
}

void remove_old_description(const ExampleFiles& files) {
  if (files.described) io::remove_file(files.description());
}

void for_each_file(std::size_t count, const std::string& path,
                   const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  const int threads =
      io::is_remote(path) ? static_cast<int>(std::min<std::size_t>(kRequests, count)) : 1;
  run_parallel(
      threads,
      [&](int) {
        for (std::size_t i; (i = next++) < count;) body(i);
      },
      [&] { next = count; });
}

}  // namespace smelt::data
