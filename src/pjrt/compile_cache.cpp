#include "pjrt/compile_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "io/filesystem/descriptor.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "pjrt/find_plugin.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "smeltx01", kSuffix = ".smeltx";
constexpr std::size_t kHeadBytes =
    kMagic.size() + 2 * sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t);

// Returns the model and the feature flags of the CPU. They are part of the cache key because
// compiled code may use instructions that another CPU lacks.
std::string cpu_features() {
  std::ifstream info("/proc/cpuinfo");
  std::string kind;
  for (std::string line; std::getline(info, line) && !line.empty();)
    if (line.starts_with("model name") || line.starts_with("flags") ||
        line.starts_with("Features") || line.starts_with("CPU part"))
      kind += line + "\n";
  return kind;
}

// Returns the path, size and modification time of the plugin file. A replaced file may contain
// another compiler, even if it reports the same version.
std::string identity_of_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return path;
  return str(path, " ", status.st_size, " ", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec);
}

std::string key_of(const Client& client, std::string_view stablehlo,
                   const CompileOptions& options) {
  const std::string platform = client.platform_name();
  std::string key =
      str(platform, "\n", client.platform_version(), "\n", client.plugin()->abi_version(), "\n",
          identity_of_file(client.plugin()->path()), "\n", client.device_count(), " of ",
          client.device_kind(), "\n");
  for (const char* variable : {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "NPROC"})
    if (const char* value = std::getenv(variable)) key += str(variable, "=", value, "\n");
  if (platform == "cpu") key += str(cpu_features(), available_threads(), " threads\n");
  if (const int processes = client.process_count(); processes > 1)
    key += str("process ", client.process_index(), " of ", processes, "\n");
  key += client.serialized(options);
  key += stablehlo;
  return key;
}

bool only_owner_can_write(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Returns the content of a file that only this user can write, or nullopt if there is no such file.
std::optional<std::string> read_trusted(const std::string& path, std::uint64_t max_bytes) {
  const io::Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > max_bytes)
    return std::nullopt;
  if (!only_owner_can_write(status)) {
    log_warning(
        "{}: not loaded because other users can write it; it is compiled again and replaced", path);
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (count <= 0) return std::nullopt;
    at += static_cast<std::size_t>(count);
  }
  ::futimens(file.get(), nullptr);  // last use: eviction removes the oldest files
  return bytes;
}

std::string head_of(std::string_view key, std::string_view program) {
  std::string head(kMagic);
  io::append_little_endian(head, std::uint64_t{key.size()});
  io::append_little_endian(head, std::uint64_t{program.size()});
  io::append_little_endian(head, io::crc32c(key));
  io::append_little_endian(head, io::crc32c(program));
  return head;
}

// Returns the compiled program stored in a file, or nullopt if the file is damaged or has another
// key.
std::optional<std::string_view> program_in(std::string_view bytes, std::string_view key) {
  if (bytes.size() < kHeadBytes + key.size() || bytes.substr(kHeadBytes, key.size()) != key)
    return std::nullopt;
  const std::string_view program = bytes.substr(kHeadBytes + key.size());
  if (bytes.substr(0, kHeadBytes) != head_of(key, program)) return std::nullopt;
  return program;
}

}  // namespace

std::optional<CompileCache> CompileCache::of_user() {
  if (const char* chosen = std::getenv("SMELT_COMPILE_CACHE"); chosen && *chosen) {
    if (std::string_view(chosen) == "off") return std::nullopt;
    return CompileCache(chosen);
  }
  const auto caches = user_folder("XDG_CACHE_HOME", ".cache");
  if (!caches) return std::nullopt;
  return CompileCache((fs::path(*caches) / "smelt/compiled").string());
}

// Returns the cache file for a key. If two keys have the same file name, the newer program replaces
// the older one.
std::string CompileCache::path_of(const std::string& key) const {
  return (fs::path(folder_) / str(io::hex_text(io::crc32c(key)), "-", key.size(), kSuffix))
      .string();
}

bool CompileCache::is_safe() const {
  struct stat status{};
  if (::stat(folder_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (only_owner_can_write(status)) return true;
  log_warning(
      "{}: compile cache disabled because other users can write to this folder; run chmod go-w on "
      "it, or set SMELT_COMPILE_CACHE to another folder",
      folder_);
  return false;
}

std::optional<Executable> CompileCache::find(const Client& client, const std::string& key,
                                             std::uint32_t launch) const {
  const std::string path = path_of(key);
  const auto bytes = read_trusted(path, max_bytes_);
  if (!bytes) return std::nullopt;
  const auto program = program_in(*bytes, key);
  if (!program) {
    log_debug("{}: damaged or for another program; compiling", path);
    return std::nullopt;
  }
  try {
    return client.load(*program, launch);
  } catch (const SystemError& error) {
    log_info("{}: could not be loaded, compiling instead: {}", path, error.what());
    return std::nullopt;
  }
}

void CompileCache::make_room(std::uint64_t bytes) const {
  struct Entry {
    fs::file_time_type used;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::error_code ignored;
  // Another process may remove files or the folder at the same time.
  for (fs::directory_iterator file(folder_, ignored), end; !ignored && file != end;
       file.increment(ignored)) {
    const fs::path& path = file->path();
    std::error_code gone;
    const Entry entry{fs::last_write_time(path, gone), fs::file_size(path, gone), path};
    if (!gone && path.string().find(kSuffix) != std::string::npos) entries.push_back(entry);
  }
  std::ranges::sort(entries, std::greater{}, &Entry::used);
  for (const Entry& entry : entries)
    if ((bytes += entry.size) > max_bytes_) fs::remove(entry.path, ignored);
}

void CompileCache::keep(const std::string& key, const CompiledProgram& program) const {
  const std::string bytes = program.serialize(), path = path_of(key);
  if (kHeadBytes + key.size() + bytes.size() > max_bytes_) return;
  make_room(kHeadBytes + key.size() + bytes.size());
  io::OutputFile file(path);
  file.write(head_of(key, bytes));
  file.write(key);
  file.write(bytes);
  file.commit();
  // Independent of the umask: a file that others can write would not be read again.
  ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
}

Executable CompileCache::compile(const Client& client, std::string_view stablehlo,
                                 const CompileOptions& options) const {
  std::error_code ignored;
  if (fs::create_directories(folder_, ignored))
    fs::permissions(folder_, fs::perms::owner_all, ignored);
  if (!is_safe()) return client.compile(stablehlo, options);
  const std::string key = key_of(client, stablehlo, options);
  if (auto found = find(client, key, client.first_launch(stablehlo, options)))
    return std::move(*found);
  Executable compiled = client.compile(stablehlo, options);
  try {
    keep(key, compiled.program());
  } catch (const Error& error) {
    log_info("could not write the compiled program to the compile cache: {}", error.what());
  }
  return compiled;
}

Executable compile_cached(const Client& client, std::string_view stablehlo,
                          const CompileOptions& options) {
  const auto cache = CompileCache::of_user();
  return cache ? cache->compile(client, stablehlo, options) : client.compile(stablehlo, options);
}

}  // namespace smelt::pjrt
