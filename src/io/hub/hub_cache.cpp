#include "io/hub/hub_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/stop_signal.h"

namespace smelt::io {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kLockPoll{100};

void make_cache_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw_errno("create directory", folder.string(), error.value());
}

std::optional<std::string> cached_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  if (!file || !(content << file.rdbuf())) return std::nullopt;
  return std::move(content).str();
}

// Returns whether a file exists with this size.
bool has_size(const std::string& path, std::uint64_t size) {
  std::error_code error;
  const std::uint64_t found = fs::file_size(path, error);
  return !error && found == size;
}

std::string temporary_name(const std::string& path) {
  return str(path, ".", hex(std::random_device{}(), 8), ".tmp");
}

// Writes a small file atomically.
void write_cached(const std::string& path, const std::string& content) {
  make_cache_folders(fs::path(path).parent_path());
  const std::string partial = temporary_name(path);
  {
    std::ofstream file(partial, std::ios::binary);
    file << content;
    file.close();
    if (!file) {
      const int error_number = errno;
      std::remove(partial.c_str());
      throw_errno("write", path, error_number == 0 ? EIO : error_number);
    }
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    std::remove(partial.c_str());
    throw_errno("write", path, error_number);
  }
}

// The lock of a blob: an open file with flock(2).
struct BlobLock {
  explicit BlobLock(int opened) : fd(opened) {}
  ~BlobLock() {
    if (fd >= 0) ::close(fd);
  }
  BlobLock(const BlobLock&) = delete;
  int fd;
};

}  // namespace

HubCache::HubCache(std::string root, const HubRepo& repo)
    : root_(std::move(root)), name_(plural_name(repo.kind)) {
  for (const std::string_view part : split(repo.id, '/')) name_ += str("--", part);
  folder_ = str(root_, "/", name_);
}

void HubCache::make() const {
  for (const char* part : {"blobs", "refs", "snapshots"})
    make_cache_folders(str(folder_, "/", part));
}

std::optional<std::string> HubCache::read_ref(const std::string& revision) const {
  const auto text = cached_text(str(folder_, "/refs/", revision));
  if (!text || !is_commit(trim(*text))) return std::nullopt;
  return std::string(trim(*text));
}

void HubCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (revision != commit && read_ref(revision) != commit)
    write_cached(str(folder_, "/refs/", revision), commit);
}

std::optional<HubFiles> HubCache::read_tree(const std::string& commit) const try {
  const auto text = cached_text(str(folder_, "/trees/", commit, ".json"));
  const Json json = text ? Json::parse_or_discard(*text) : Json();
  if (!json.is_object() || json.value("format_version", 0) != 1) return std::nullopt;
  HubFiles files;
  for (const auto& [path, entry] : json.at("files").items()) {
    const bool large = entry.contains("lfs_sha256") && entry.at("lfs_sha256").is_string();
    HubFile file{
        entry.value(large && entry.contains("lfs_size") ? "lfs_size" : "size", std::uint64_t{0}),
        {large, entry.value(large ? "lfs_sha256" : "blob_id", "")},
        large ? entry.value("blob_id", "") : ""};
    if (!is_safe_path(path) || !is_digest(file.digest.hex)) return std::nullopt;
    files.emplace(path, std::move(file));
  }
  return files;
} catch (const JsonError&) {  // written by another version, or damaged: the Hub lists the files
  return std::nullopt;
}

void HubCache::write_tree(const std::string& commit, const HubFiles& files) const {
  Json entries = Json::object();
  for (const auto& [path, file] : files) {
    const std::string& blob = file.git_oid.empty() ? file.digest.hex : file.git_oid;
    Json entry{{"size", file.size}, {"blob_id", blob}};
    if (file.digest.is_sha256) {
      entry["lfs_sha256"] = file.digest.hex;
      entry["lfs_size"] = file.size;
    }
    entries[path] = entry;
  }
  write_cached(str(folder_, "/trees/", commit, ".json"),
               Json{{"format_version", 1}, {"files", entries}}.dump());
}

HubFiles HubCache::cached_files(const std::string& commit) const {
  HubFiles files;
  const fs::path snapshot = str(folder_, "/snapshots/", commit);
  std::error_code ignored;
  for (fs::recursive_directory_iterator entry(snapshot, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (ignored) break;
    if (!fs::is_regular_file(entry->path(), ignored)) continue;
    const std::string hex = fs::is_symlink(entry->symlink_status(ignored))
                                ? fs::read_symlink(entry->path(), ignored).filename().string()
                                : "";
    HubFile file{fs::file_size(entry->path(), ignored), {hex.size() == 64, hex}};
    if (!is_digest(hex)) file.digest = {};
    files.emplace(entry->path().lexically_relative(snapshot).string(), std::move(file));
  }
  return files;
}

std::string HubCache::snapshot_file(const std::string& commit, const std::string& path) const {
  return str(folder_, "/snapshots/", commit, "/", path);
}

bool HubCache::has_file(const std::string& commit, const std::string& path,
                        std::uint64_t size) const {
  return has_size(snapshot_file(commit, path), size);
}

std::string HubCache::blob(const HubDigest& digest) const {
  return str(folder_, "/blobs/", digest.hex);
}

bool HubCache::has_blob(const HubDigest& digest, std::uint64_t size) const {
  return has_size(blob(digest), size);
}

void HubCache::link_file(const std::string& commit, const std::string& path,
                         const HubDigest& digest) const {
  const fs::path place = snapshot_file(commit, path);
  make_cache_folders(place.parent_path());
  std::string up = "../../";
  for (const char c : path) up += c == '/' ? "../" : "";
  const std::string partial = temporary_name(place.string());
  std::error_code error;
  fs::create_symlink(str(up, "blobs/", digest.hex), partial, error);
  if (error) {
    error.clear();
    fs::copy_file(blob(digest), partial, error);
  }
  if (!error) fs::rename(partial, place, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(partial, ignored);
  throw_errno("write", place.string(), error.value());
}

std::shared_ptr<const void> HubCache::lock_blob(const HubDigest& digest) const {
  const std::string folder = str(root_, "/.locks/", name_);
  make_cache_folders(folder);
  const std::string path = str(folder, "/", digest.hex, ".lock");
  auto lock = std::make_shared<BlobLock>(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664));
  if (lock->fd < 0) throw_errno("lock", path, errno);
  for (bool told = false; ::flock(lock->fd, LOCK_EX | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return nullptr;
    if (!told) log_info("hub: waiting for another process that downloads {}", digest.hex);
    told = true;
    if (StopSignal::raised()) throw Stopped(str("hub: ", path, ": stopped while waiting"));
    std::this_thread::sleep_for(kLockPoll);
  }
  return lock;
}

}  // namespace smelt::io
