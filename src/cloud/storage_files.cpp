#include "cloud/storage_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWild = "*?[";

// Returns the first `count` components of "a/b/c".
std::string first_parts(const std::string& name, std::ptrdiff_t count) {
  std::size_t at = 0;
  for (; count > 0; --count) {
    at = name.find('/', at);
    if (at == std::string::npos) return name;
    ++at;
  }
  return name.substr(0, at == 0 ? 0 : at - 1);
}

std::string without_slash(std::string key) {
  while (key.ends_with('/')) key.pop_back();
  return key;
}

// The selection of objects by a path on gs://.
struct Wanted {
  std::string pattern;  // without a '/' at its end, unless it is one object's name
  bool has_wildcard = false;
  bool only_below = false;     // does not match an object of exactly this name
  bool is_one_object = false;  // a literal name
};

Wanted wanted_of(const GsPath& path) {
  if (path.is_literal) return {.pattern = path.key, .is_one_object = true};
  Wanted out{.pattern = without_slash(path.key), .only_below = path.key.ends_with('/')};
  out.has_wildcard = out.pattern.find_first_of(kWild) != std::string::npos;
  return out;
}

// Returns the beginning of an object's name that matches the path: the whole name, or that of a
// folder which contains the object. Returns nullopt if the path does not select the object.
std::optional<std::string> root_of(const std::string& object, const Wanted& wanted) {
  const auto& [pattern, has_wildcard, only_below, is_one_object] = wanted;
  if (is_one_object) return object == pattern ? std::optional(object) : std::nullopt;
  if (has_wildcard && pattern.find("**") != std::string::npos) {
    const std::string whole = only_below ? pattern + "/*" : pattern;
    return ::fnmatch(whole.c_str(), object.c_str(), 0) == 0 ? std::optional(object) : std::nullopt;
  }
  std::string root = pattern;
  bool is_named = pattern.empty() || object == pattern || object.starts_with(pattern + "/");
  if (has_wildcard) {
    root = first_parts(object, std::ranges::count(pattern, '/') + 1);
    is_named = ::fnmatch(pattern.c_str(), root.c_str(), FNM_PATHNAME) == 0;
  }
  if (!is_named || (only_below && object == root)) return std::nullopt;
  return root;
}

std::vector<FileSource> remote_sources(StorageApi& api, const GsPath& path) {
  const Wanted wanted = wanted_of(path);
  const std::size_t fixed =
      wanted.has_wildcard ? wanted.pattern.find_first_of(kWild) : std::string::npos;
  const auto found = api.list(path.bucket, wanted.pattern.substr(0, fixed), StorageApi::Names::all);
  std::map<std::pair<std::string, bool>, FileSource> sources;
  for (const StoredObject& object : found.objects) {
    const auto root = root_of(object.name, wanted);
    if (!root) continue;
    const bool in_folder = object.name != *root;
    FileSource& source = sources[{*root, in_folder}];
    source.root = root->empty() ? path.bucket : io::path_name("/" + *root);
    source.is_folder = in_folder;
    const std::size_t begin = in_folder && !root->empty() ? root->size() + 1 : root->size();
    source.files.push_back({object.name.substr(begin), path.with_key(object.name), object.size,
                            object.crc32c, object.updated});
  }
  std::vector<FileSource> out;
  for (auto& [root, source] : sources) out.push_back(std::move(source));
  return out;
}

void add_below(FileSource& source, const std::string& folder) {
  std::error_code error;
  const auto options = fs::directory_options::none;
  for (fs::recursive_directory_iterator entry(folder, options, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (entry->is_directory() && !entry->is_symlink()) continue;
    if (!entry->is_regular_file())
      source.left_out.push_back(path);
    else
      source.files.push_back(
          {fs::path(path).lexically_relative(folder).generic_string(), path, entry->file_size()});
  }
  if (error) throw_errno("read directory", folder, error.value());
  std::ranges::sort(source.files, {}, &StoredFile::name);
}

FileSource local_source(const std::string& path) {
  const auto status = io::file_status(path);
  if (!status) throw_no_sources(path);
  const std::string name = io::path_name(path);
  FileSource source{name == "." || name == ".." ? "" : name, status->is_folder, {}, {}};
  if (status->is_folder)
    add_below(source, path);
  else
    source.files.push_back({"", path, status->size});
  return source;
}

std::vector<FileSource> local_sources(const std::string& path) {
  if (io::exists(path)) return {local_source(path)};
  std::vector<FileSource> out;
  if (path.find_first_of(kWild) == std::string::npos) return out;
  for (const std::string& each : io::match_pattern(path, "storage"))
    out.push_back(local_source(each));
  return out;
}

}  // namespace

std::string GsPath::shown(std::string_view other) const {
  return str("gs://", user, user.empty() ? "" : "@", bucket, "/", other);
}

std::string GsPath::with_key(std::string_view other) const {
  return io::RemotePath{"gs", user, bucket, "", ""}.with_key(other);
}

std::string GsPath::folder_key() const {
  const std::string name = without_slash(key);
  return name.empty() ? "" : name + "/";
}

namespace {

// Throws UsageError if the path has an option that Arrow's filesystems or smelt accept, or any text
// after kLiteralName. Other text that looks like an option ("index.html?lang=en") belongs to the
// object's name.
void require_no_options(const io::RemotePath& parts) {
  static const std::set<std::string_view> known{"scheme",   "endpoint_override",   "region",
                                                "location", "retry_limit_seconds", "project_id"};
  if (parts.options.empty()) return;
  for (const std::string_view item : split(std::string_view(parts.options).substr(1), '&'))
    if (parts.is_literal || known.contains(item.substr(0, item.find('='))))
      throw UsageError(
          str("storage: ", parts.with_key(parts.key), ": smelt storage takes no options in a path"),
          str("remove ", parts.options, " and set ", kStorageEmulator,
              "=http://HOST:PORT; for an object of this name add ", io::kLiteralName,
              " to the path"));
}

}  // namespace

GsPath parse_gs(const std::string& path) {
  if (!io::is_remote(path) || io::parse_remote(path).scheme != "gs")
    throw UsageError(str("storage: ", path, " is not on Google's storage"), "gs://BUCKET/NAME");
  const io::RemotePath parts = io::parse_remote(path);
  require_no_options(parts);
  if (parts.is_literal) {
    if (parts.key.empty())
      throw UsageError(str("storage: ", path, " has no object name before ?="),
                       str("write gs://", parts.bucket, " for the bucket"));
    return {parts.user, parts.bucket, parts.key, true};
  }
  std::string key =
      path.substr(str("gs://", parts.user, parts.user.empty() ? "" : "@", parts.bucket).size());
  if (key.starts_with('/')) key.erase(0, 1);
  return {parts.user, parts.bucket, key};
}

std::string storage_place(const std::string& path) {
  if (!io::is_remote(path)) return path;
  const GsPath parts = parse_gs(path);
  return parts.with_key(without_slash(parts.key));
}

std::vector<FileSource> find_sources(StorageApi& api, const std::string& path) {
  return io::is_remote(path) ? remote_sources(api, parse_gs(path)) : local_sources(path);
}

void throw_no_sources(const std::string& path) {
  throw UsageError(str("storage: ", path, ": no such file or folder"),
                   io::is_remote(path)
                       ? str("smelt storage ls ", path.substr(0, path.rfind('/') + 1))
                       : "check its spelling");
}

namespace {

std::string shown_path(const StoredFile& object) {
  const GsPath parts = parse_gs(object.path);
  return parts.shown(parts.key);
}

// Returns "gs://bucket/folder/", the folder to which the object's name is relative.
std::string folder_of(const StoredFile& object) {
  const std::string path = shown_path(object);
  return path.substr(0, path.size() - object.name.size());
}

}  // namespace

std::vector<StorageEntry> list_entries(StorageApi& api, const std::string& path, bool recursive) {
  const GsPath parts = parse_gs(path);
  std::vector<StorageEntry> out;
  if (recursive || wanted_of(parts).has_wildcard) {
    const auto sources = find_sources(api, path);
    if (sources.empty() && !parts.key.empty()) throw_no_sources(path);
    for (const FileSource& source : sources) {
      const StoredFile& first = source.files.front();
      if (source.is_folder && !recursive)
        out.push_back({folder_of(first)});
      else
        for (const StoredFile& file : source.files)
          out.push_back({shown_path(file), file.size, file.updated});
    }
    return out;
  }
  const auto add = [&](const std::string& prefix, const auto& takes) {
    const auto found = api.list(parts.bucket, prefix, StorageApi::Names::up_to_slash);
    for (const std::string& folder : found.folders)
      if (takes(folder)) out.push_back({parts.shown(folder)});
    for (const StoredObject& object : found.objects)
      if (takes(object.name))
        out.push_back({parts.shown(object.name), object.size, object.updated});
  };
  const auto all = [](const std::string& /*name*/) { return true; };
  if (!parts.key.empty() && !parts.key.ends_with('/'))
    add(parts.key, [&](const std::string& name) { return name == parts.key; });
  add(parts.folder_key(), all);
  if (out.empty() && !parts.key.empty()) throw_no_sources(path);
  return out;
}

bool is_storage_folder(StorageApi& api, const std::string& path) {
  if (!io::is_remote(path)) return io::is_folder(path);
  const GsPath parts = parse_gs(path);
  if (parts.folder_key().empty()) return true;
  const auto found = api.list(parts.bucket, parts.folder_key(), StorageApi::Names::up_to_slash);
  return !found.objects.empty() || !found.folders.empty();
}

std::vector<StoredFile> files_below(StorageApi& api, const std::string& folder,
                                    std::vector<std::string>* left_out) {
  std::vector<StoredFile> out;
  if (io::is_remote(folder)) {
    const GsPath parts = parse_gs(folder);
    const std::string prefix = parts.folder_key();
    for (const StoredObject& object :
         api.list(parts.bucket, prefix, StorageApi::Names::all).objects)
      out.push_back({object.name.substr(prefix.size()), parts.with_key(object.name), object.size,
                     object.crc32c, object.updated});
    return out;
  }
  const auto status = io::file_status(folder);
  if (!status) return out;
  if (!status->is_folder)
    throw UsageError(str("storage: ", folder, " is a file, not a folder"),
                     "smelt storage cp copies files");
  FileSource source = local_source(folder);
  if (left_out != nullptr)
    for (const std::string& path : source.left_out)
      left_out->push_back(fs::path(path).lexically_relative(folder).generic_string());
  return std::move(source.files);
}

}  // namespace smelt::cloud
