#include "cli/cloud/storage_verbs.h"

#include <algorithm>
#include <iostream>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "cloud/storage_copy.h"
#include "cloud/whoami.h"
#include "io/filesystem/path.h"

namespace smelt::cli {
namespace {

constexpr const char* kNeither = " is neither file nor folder: skipped\n";
constexpr const char* kStopping = "\nstopping: a second signal ends at once\n";

std::uint64_t stored_bytes(const std::vector<cloud::StoredFile>& files) {
  return std::accumulate(
      files.begin(), files.end(), std::uint64_t{0},
      [](std::uint64_t sum, const cloud::StoredFile& file) { return sum + file.size; });
}

std::string stored_size(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

std::string files_words(std::size_t count, std::uint64_t bytes) {
  return str(counted(count, "file"), ", ", stored_size(bytes));
}

void copy_stored(cloud::StorageApi& api, const StorageOptions& o,
                 const std::vector<cloud::CopyJob>& jobs) {
  std::uint64_t total = 0, done = 0;
  for (const cloud::CopyJob& job : jobs) total += job.from.size;
  if (!o.dry_run) {
    const StopSignal signal(kStopping);
    std::mutex mutex;
    Progress progress("copied", static_cast<std::int64_t>(total), Progress::kBytes);
    cloud::copy_files(api, jobs, [&](std::uint64_t bytes) {
      const std::lock_guard lock(mutex);
      done += bytes;
      if (!o.quiet) progress.update(static_cast<std::int64_t>(done));
    });
  }
  if (o.dry_run)
    for (const cloud::CopyJob& job : jobs) std::cout << job.from.path << " -> " << job.to << "\n";
  if (!o.quiet)
    std::cout << (o.dry_run ? "would copy " : "copied ") << files_words(jobs.size(), total) << "\n";
}

// Returns the files of a path; folders only if `recursive` is set.
std::vector<cloud::FileSource> sources_of(cloud::StorageApi& api, const std::string& path,
                                          bool recursive) {
  auto found = cloud::find_sources(api, path);
  if (found.empty()) cloud::throw_no_sources(path);
  std::vector<std::string> folders;
  if (!recursive)
    std::erase_if(found, [&](const cloud::FileSource& each) {
      if (each.is_folder) folders.push_back(each.root);
      return each.is_folder;
    });
  if (found.empty())
    throw UsageError(str("storage: ", path, " is a folder"), "add -r to copy its contents");
  for (const std::string& folder : folders)
    std::cerr << "note: " << folder << " of " << path << " is a folder: skipped\n";
  for (const cloud::FileSource& source : found)
    for (const std::string& other : source.left_out) std::cerr << "note: " << other << kNeither;
  return found;
}

// Returns the path that is remote; the copy uses the credentials for it.
const std::string& remote_of(const std::string& path, const std::string& other) {
  return io::is_remote(path) ? path : other;
}

// Throws UsageError if -d would delete a target whose source was skipped.
void require_surplus(const cloud::SyncPlan& plan, const std::string& from) {
  for (const std::string& name : plan.left_out)
    for (const cloud::StoredFile& file : plan.surplus)
      if (file.name == name || file.name.starts_with(name + "/"))
        throw UsageError(str("storage rsync: ", io::join_path(from, name),
                             " is neither file nor folder, and -d would remove ", file.path),
                         "remove -d, or copy the folder itself");
}

// Returns true if a path names all contents of its bucket.
bool is_whole_bucket(const cloud::GsPath& path) {
  return path.key.find_first_not_of('/') == std::string::npos ||
         (!path.is_literal && path.key.find_first_not_of("*/") == std::string::npos);
}

std::vector<cloud::StoredFile> doomed(cloud::StorageApi& api, const StorageOptions& o,
                                      const std::string& path) {
  const cloud::GsPath parts = cloud::parse_gs(path);
  if (parts.key.empty() && !o.recursive)
    throw UsageError(str("storage rm: ", path, " is a bucket"), "add -r to delete it");
  std::vector<cloud::StoredFile> files;
  if (parts.key.empty()) {
    files = cloud::files_below(api, path);
  } else if (!o.force || !cloud::find_sources(api, path).empty()) {
    for (cloud::FileSource& source : sources_of(api, path, o.recursive))
      std::ranges::move(source.files, std::back_inserter(files));
  }
  if (is_whole_bucket(parts) && !files.empty() && !o.all)
    throw UsageError(str("storage rm: bucket ", parts.bucket, " contains ",
                         files_words(files.size(), stored_bytes(files)), ": nothing was deleted"),
                     "add --all to delete all that is in it");
  return files;
}

}  // namespace

void make_buckets(const StorageOptions& o) {
  if (o.uniform != "on" && o.uniform != "off")
    throw UsageError(str("storage mb: -b must be on or off, got '", o.uniform, "'"), "use -b on");
  std::vector<cloud::BucketSpec> specs;
  for (const std::string& path : o.paths) {
    const cloud::GsPath parts = cloud::parse_gs(path);
    if (!parts.key.empty())
      throw UsageError(
          str("storage mb: ", path, " is a folder in a bucket, which need not be created"),
          str("use smelt storage mb gs://", parts.bucket));
    cloud::require_bucket_name(parts.bucket);
    specs.push_back({parts.bucket, o.location, o.storage_class, o.uniform == "on"});
  }
  cloud::GoogleApi api = cloud::storage_connection(o.paths.front());
  const std::string project = cloud::project_of(o.project, api);
  for (const cloud::BucketSpec& spec : specs) {
    cloud::StorageApi(api).make_bucket(project, spec);
    std::cout << "created gs://" << spec.name
              << (spec.location.empty() ? "" : " in " + lower_case(spec.location)) << "\n";
  }
}

void copy_storage(const StorageOptions& o) {
  const std::string target = o.paths.back();
  if (o.paths.size() < 2)
    throw UsageError("storage cp: no target given", str("use smelt storage cp ", target, " TO"));
  cloud::StorageConnections connections;
  std::vector<cloud::FileSource> sources;
  for (std::size_t i = 0; i + 1 < o.paths.size(); ++i) {
    cloud::StorageApi api(connections.of(remote_of(o.paths[i], target)));
    std::ranges::move(sources_of(api, o.paths[i], o.recursive), std::back_inserter(sources));
  }
  cloud::StorageApi api(connections.of(remote_of(target, o.paths.front())));
  copy_stored(api, o, cloud::plan_copies(api, sources, target));
}

void sync_storage(const StorageOptions& o) {
  const std::string &from = o.paths.at(0), &to = o.paths.at(1);
  cloud::StorageConnections connections;
  cloud::StorageApi source(connections.of(remote_of(from, to))),
      api(connections.of(remote_of(to, from)));
  const cloud::SyncPlan plan = cloud::plan_sync(
      source, from, api, to, o.recursive ? cloud::Below::all : cloud::Below::this_folder);
  for (const std::string& name : plan.left_out)
    std::cerr << "note: " << io::join_path(from, name) << kNeither;
  if (o.surplus) require_surplus(plan, from);
  copy_stored(api, o, plan.copies);
  if (o.surplus && !o.dry_run) cloud::remove_stored(api, plan.surplus);
  if (o.surplus && o.dry_run)
    for (const cloud::StoredFile& file : plan.surplus) std::cout << "remove " << file.path << "\n";
  if (o.quiet) return;
  std::cout << plan.unchanged << " unchanged";
  if (!plan.surplus.empty())
    std::cout << ", " << plan.surplus.size() << " only in " << o.paths[1]
              << (!o.surplus  ? ""
                  : o.dry_run ? ", which would be removed"
                              : ", removed");
  std::cout << "\n";
}

void remove_storage(const StorageOptions& o) {
  cloud::StorageConnections connections;
  std::vector<std::vector<cloud::StoredFile>> files;
  for (const std::string& path : o.paths) {
    cloud::StorageApi api(connections.of(path));
    files.push_back(doomed(api, o, path));
  }
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    cloud::StorageApi api(connections.of(o.paths[i]));
    cloud::remove_stored(api, files[i]);
    count += files[i].size();
    bytes += stored_bytes(files[i]);
  }
  if (!o.quiet) std::cout << "removed " << files_words(count, bytes) << "\n";
  for (const std::string& path : o.paths) {
    const cloud::GsPath parts = cloud::parse_gs(path);
    if (!parts.key.empty()) continue;
    cloud::StorageApi(connections.of(path)).remove_bucket(parts.bucket);
    if (!o.quiet) std::cout << "removed gs://" << parts.bucket << "\n";
  }
}

}  // namespace smelt::cli
