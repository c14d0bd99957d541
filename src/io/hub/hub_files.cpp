#include "io/hub/hub_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "io/hub/hub_client.h"
#include "io/hub/hub_dataset.h"
#include "io/hub/hub_download.h"

namespace smelt::io {
namespace {

constexpr std::string_view kHubWildcards = "*?[";

// A commit of a repository and what is known of its files. Thread-safe.
class Snapshot {
 public:
  Snapshot(HubSettings settings, const HubPath& path)
      : settings_(std::move(settings)),
        asked_(HubPath{path.repo, path.revision, ""}),
        cache_(settings_.cache, path.repo) {
    find_commit();
  }

  const std::string& commit() const { return commit_; }
  HubPath at_commit(const std::string& path) const { return {asked_.repo, commit_, path}; }

  // Returns the file, or nullopt if the commit does not have it.
  std::optional<HubFile> file(const std::string& path) {
    const HubFiles& files = listing(folder_to_list(path));
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  }

  // Returns the files below a folder.
  HubFiles below(const std::string& folder) {
    const HubFiles& files = listing(asked_.repo.kind == RepoKind::model ? "" : folder);
    if (folder.empty()) return files;
    const std::string prefix = folder + "/";
    HubFiles out;
    for (auto at = files.lower_bound(prefix); at != files.end() && at->first.starts_with(prefix);
         ++at)
      out.insert(*at);
    return out;
  }

  // Throws SystemError if the Hub is unreachable and the cache does not list all files: a pattern
  // would silently select fewer files. Logs a warning if requests are forbidden.
  void require_whole_list(const std::string& pattern) const {
    if (!is_partial_) return;
    if (settings_.offline) {
      log_warning("hub: {}: {} is set, and the cache has no list of all files; using those in it",
                  pattern, offline_variable());
      return;
    }
    throw SystemError(
        str("hub: ", pattern,
            ": the Hub is unreachable, and the cache does not list all files of commit ", commit_),
        "check the network, then run the command again");
  }

  std::string download(const std::string& path) {
    // A complete snapshot of a commit needs no request.
    const auto wanted = file(path);
    if (!wanted) throw_no_file(path);
    if (cache_.has_file(commit_, path, wanted->size)) return cache_.snapshot_file(commit_, path);
    if (settings_.offline || is_unreachable_)
      throw UsageError(str("hub: ", at_commit(path).text(), ": not in the cache, ", cache_.root(),
                           settings_.offline ? str(", and ", offline_variable(), " is set")
                                             : ", and the Hub is unreachable"),
                       settings_.offline ? str("unset ", offline_variable(),
                                               ", or download it first with smelt hub download")
                                         : "check the network, then run the command again");
    HubClient client(settings_with_token());
    download_blob(client, cache_, at_commit(path), *wanted);
    cache_.link_file(commit_, path, wanted->digest);
    return cache_.snapshot_file(commit_, path);
  }

  [[noreturn]] void throw_no_file(const std::string& path) {
    std::vector<std::string> known;
    for (const auto& [name, ignored] : listing(folder_to_list(path))) known.push_back(name);
    const bool partial = settings_.offline || is_unreachable_;
    throw UsageError(str("hub: ", HubPath{asked_.repo, asked_.revision, ""}.text(),
                         " has no file '", path, "'", partial ? " in the cache" : ""),
                     settings_.offline ? str("unset ", offline_variable())
                     : known.empty()   ? "check the path"
                                       : did_you_mean(path, known));
  }

 private:
  // Returns the settings with the current token: a user may log in while the process runs.
  HubSettings settings_with_token() const {
    const HubSettings now = hub_settings();
    HubSettings out = settings_;
    if (now.endpoint_text() != out.endpoint_text()) return out;
    out.token = now.token;
    out.token_source = now.token_source;
    out.token_only_if_asked = now.token_only_if_asked;
    return out;
  }

  // Models have few files, so one request lists all. A dataset may have very many.
  std::string folder_to_list(const std::string& path) const {
    if (asked_.repo.kind == RepoKind::model) return "";
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }

  void find_commit() {
    const std::string revision = asked_.revision_or_main();
    if (is_commit(revision)) {
      commit_ = revision;
      return;
    }
    const auto cached = cache_.read_ref(revision);
    if (settings_.offline) {
      if (!cached) throw_not_cached();
      commit_ = *cached;
      log_info("hub: {} is commit {} (offline)", asked_.text(), commit_);
      return;
    }
    try {
      ask_for_commit(revision, cached ? HubPatience::brief : HubPatience::patient);
    } catch (const SystemError& error) {
      if (!cached) throw;
      commit_ = *cached;
      is_unreachable_ = true;
      log_warning("{}; using commit {} of {} from the cache", error_parts(error.what()).what,
                  commit_, asked_.text());
    }
  }

  void ask_for_commit(const std::string& revision, HubPatience patience) {
    HubClient client(settings_, patience);
    commit_ = client.commit_of(asked_);
    cache_.make();
    cache_.write_ref(revision, commit_);
    log_info("hub: {} is commit {}", asked_.text(), commit_);
  }

  [[noreturn]] void throw_not_cached() const {
    throw UsageError(
        str("hub: ", asked_.text(), ": not in the cache, ", cache_.root(), ", and ",
            offline_variable(), " is set"),
        str("unset ", offline_variable(), ", or download it first with smelt hub download"));
  }

  // Returns the files below a folder, or more.
  const HubFiles& listing(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    for (const auto& [listed, files] : listings_)
      if (listed.empty() || listed == folder || folder.starts_with(listed + "/")) return files;
    if (auto all = cache_.read_tree(commit_)) return listings_[""] = std::move(*all);
    HubFiles cached = cache_.cached_files(commit_);
    if (settings_.offline || is_unreachable_) {
      if (cached.empty() && settings_.offline) throw_not_cached();
      is_partial_ = true;
      return listings_[""] = std::move(cached);
    }
    HubFiles files;
    try {
      files = request_listing(folder);
    } catch (const SystemError& error) {
      if (cached.empty()) throw;
      is_unreachable_ = true;
      is_partial_ = true;
      log_warning("{}; using the files in the cache", error_parts(error.what()).what);
      return listings_[""] = std::move(cached);
    }
    if (folder.empty()) {
      cache_.make();
      cache_.write_tree(commit_, files);
    }
    return listings_[folder] = std::move(files);
  }

  HubFiles request_listing(const std::string& folder) {
    HubClient client(settings_);
    HubFiles files;
    std::string url =
        client.api_url(asked_.repo, str("/tree/", commit_, folder.empty() ? "" : "/",
                                        percent_encoded(folder), "?recursive=true&expand=false"));
    while (!url.empty()) {
      const HttpAnswer answer = client.send({.url = url});
      if (answer.status == 404 && client.refusal_of(answer).code == "EntryNotFound") return files;
      if (answer.status != 200) client.throw_refusal(answer, asked_);
      add_entries(Json::parse_or_discard(answer.body), files);
      const std::string next = next_link(answer);
      if (next.empty()) break;
      const Url here = parse_url(url, "hub"), there = resolve_url(here, next);
      if (!there.same_server(here))
        throw SystemError(str("hub: ", here.shown(), ": the next page is on another server"),
                          "check HF_ENDPOINT");
      url = there.text();
    }
    return files;
  }

  void add_entries(const Json& entries, HubFiles& files) const try {
    for (const Json& entry : entries.elements()) {
      if (entry.value("type", "") != "file") continue;
      HubFile file{entry.value("size", std::uint64_t{0}), {false, entry.value("oid", "")}};
      if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object())
        file = {lfs->value("size", file.size), {true, lfs->value("oid", "")}, file.digest.hex};
      const std::string path = entry.value("path", "");
      if (!is_safe_path(path) || !is_digest(file.digest.hex))
        throw SystemError(str("hub: ", asked_.text(), ": the Hub listed an invalid file '",
                              is_safe_path(path) ? path : "…", "'"),
                          "check HF_ENDPOINT");
      files.emplace(path, std::move(file));
    }
  } catch (const JsonError&) {
    throw SystemError(str("hub: ", asked_.text(), ": the list of files is not valid"),
                      "check HF_ENDPOINT");
  }

  HubSettings settings_;
  HubPath asked_;
  HubCache cache_;
  std::string commit_;
  std::atomic<bool> is_unreachable_ = false;
  std::atomic<bool> is_partial_ = false;  // the list has only the files in the cache
  std::mutex mutex_;
  std::map<std::string, HubFiles> listings_;
};

struct Snapshots {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Snapshot>> by_name;
};

Snapshots& snapshots() {
  static Snapshots all;
  return all;
}

std::string snapshot_name(const HubSettings& settings, const HubPath& path) {
  return str(settings.endpoint_text(), "\n", settings.cache, "\n", settings.offline, "\n",
             HubPath{path.repo, path.revision_or_main(), ""}.text());
}

// Returns the snapshot of a path's revision, which is looked up once.
std::shared_ptr<Snapshot> snapshot_of(const HubPath& path) {
  const HubSettings settings = hub_settings();
  const std::string name = snapshot_name(settings, path);
  Snapshots& all = snapshots();
  const std::lock_guard lock(all.mutex);
  auto& found = all.by_name[name];
  if (found == nullptr) {
    found = std::make_shared<Snapshot>(settings, path);
    // Paths with this commit name the same files.
    all.by_name.emplace(snapshot_name(settings, path.at_revision(found->commit())), found);
  }
  return found;
}

// Returns whether the parts of a path match those of a pattern.
bool match_parts(std::span<const std::string_view> pattern,
                 std::span<const std::string_view> path) {
  if (pattern.empty()) return path.empty();
  if (pattern[0] == "**") {
    for (std::size_t skipped = 0; skipped <= path.size(); ++skipped)
      if (match_parts(pattern.subspan(1), path.subspan(skipped))) return true;
    return false;
  }
  return !path.empty() &&
         ::fnmatch(std::string(pattern[0]).c_str(), std::string(path[0]).c_str(), FNM_PERIOD) ==
             0 &&
         match_parts(pattern.subspan(1), path.subspan(1));
}

// Returns the content of a small local file.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  if (!file || !(content << file.rdbuf())) throw_errno("read", path, errno);
  return std::move(content).str();
}

}  // namespace

std::string hub_file(const std::string& path) {
  const HubPath parsed = parse_hub_path(path);
  const auto snapshot = snapshot_of(parsed);
  if (parsed.path.empty())
    throw UsageError(str("hub: ", path, " is a repository, expected a file"),
                     str("name a file in it, such as ", parsed.with_path("README.md").text()));
  if (!snapshot->file(parsed.path) && !snapshot->below(parsed.path).empty())
    throw UsageError(str("hub: ", path, " is a folder, expected a file"),
                     str("name the files in it, as '", path, "/*'"));
  return snapshot->download(parsed.path);
}

std::string downloaded_path(const std::string& path) {
  return is_hub_path(path) ? hub_file(path) : path;
}

std::optional<HubStatus> hub_status(const std::string& path) {
  const HubPath parsed = parse_hub_path(path);
  const auto snapshot = snapshot_of(parsed);
  if (parsed.path.empty()) return HubStatus{true, 0, 0};
  if (const auto file = snapshot->file(parsed.path)) {
    std::uint64_t version = 0;
    const std::string first = file->digest.hex.substr(0, 15);
    std::from_chars(first.data(), first.data() + first.size(), version, 16);
    return HubStatus{false, file->size, static_cast<std::int64_t>(version)};
  }
  if (snapshot->below(parsed.path).empty()) return std::nullopt;
  return HubStatus{true, 0, 0};
}

std::string hub_checksum(const std::string& path) {
  const HubPath parsed = parse_hub_path(path);
  const auto file = snapshot_of(parsed)->file(parsed.path);
  return file ? file->digest.hex : "";
}

std::vector<std::string> hub_folder(const std::string& path) {
  const HubPath parsed = parse_hub_path(path);
  std::set<std::string> names;
  for (const auto& [file, ignored] : snapshot_of(parsed)->below(parsed.path)) {
    const std::string rest = parsed.path.empty() ? file : file.substr(parsed.path.size() + 1);
    names.insert(rest.substr(0, rest.find('/')));
  }
  return {names.begin(), names.end()};
}

bool matches_hub_pattern(std::string_view pattern, std::string_view path) {
  return match_parts(split(pattern, '/'), split(path, '/'));
}

std::vector<std::string> hub_matches(const std::string& pattern) {
  const HubPath parsed = parse_hub_path(pattern);
  const std::size_t wildcard = parsed.path.find_first_of(kHubWildcards);
  const std::size_t slash = parsed.path.rfind('/', wildcard);
  const std::string folder = wildcard == std::string::npos || slash == std::string::npos
                                 ? ""
                                 : parsed.path.substr(0, slash);
  const auto snapshot = snapshot_of(parsed);
  const HubFiles files = snapshot->below(folder);
  snapshot->require_whole_list(pattern);
  std::vector<std::string> out;
  for (const auto& [file, ignored] : files)
    if (matches_hub_pattern(parsed.path, file)) out.push_back(parsed.with_path(file).text());
  return out;
}

bool is_hub_dataset(std::string_view path) {
  if (!is_hub_path(path)) return false;
  const HubPath parsed = parse_hub_path(path);
  return parsed.repo.kind == RepoKind::dataset && parsed.path.empty();
}

std::vector<std::string> hub_dataset_files(const std::string& dataset, const std::string& split) {
  const HubPath parsed = parse_hub_path(dataset);
  const auto snapshot = snapshot_of(parsed);
  std::vector<std::string> paths;
  for (const auto& [file, ignored] : snapshot->below("")) paths.push_back(file);
  snapshot->require_whole_list(dataset);
  constexpr const char* kReadme = "README.md";
  const bool has_readme = std::ranges::find(paths, kReadme) != paths.end();
  const std::string readme = has_readme ? text_of(snapshot->download(kReadme)) : "";
  std::vector<std::string> out;
  for (const std::string& file : dataset_split(paths, readme, split))
    out.push_back(parsed.with_path(file).text());
  if (out.empty())
    throw UsageError(
        str("hub: ", dataset, ": no ", split, " data found in ", counted(paths.size(), "file")),
        str("name the files, such as ", parsed.with_path("data/*.parquet").text()));
  log_info("hub: {}: {} of {} data, from {} to {}", dataset, counted(out.size(), "file"), split,
           out.front(), out.back());
  return out;
}

std::string hub_at_commit(const std::string& path) {
  const HubPath parsed = parse_hub_path(path);
  try {
    return parsed.at_revision(snapshot_of(parsed)->commit()).text();
  } catch (const Error&) {  // a name for comparisons must not fail
    return parsed.text();
  }
}

HubCommit hub_commit(const HubPath& path) {
  const std::string commit = snapshot_of(path)->commit();
  return {path.at_revision(commit), commit};
}

std::string hub_file_of(const HubCommit& commit, const std::string& path) {
  return snapshot_of(commit.path)->download(path);
}

HubFiles hub_files_below(const HubCommit& commit, const std::string& folder) {
  const auto snapshot = snapshot_of(commit.path);
  HubFiles files = snapshot->below(folder);
  snapshot->require_whole_list(commit.path.text());
  return files;
}

void refuse_hub_output(std::string_view action, const std::string& path) {
  throw UsageError(str(action, ": ", path, ": smelt does not write to hf:// paths"),
                   "write to a folder, then publish it with smelt hub push FOLDER ORG/NAME");
}

void forget_hub_commits() {
  Snapshots& all = snapshots();
  const std::lock_guard lock(all.mutex);
  all.by_name.clear();
}

}  // namespace smelt::io
