#include "store/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "store/file.h"

namespace smelt {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;

// What libarchive reads from. No exception may pass through its frames.
struct Source {
  explicit Source(const std::string& path) : file(path), buffer(kReadBytes) {}

  InputFile file;
  std::vector<char> buffer;
  std::exception_ptr failure;
};

::la_ssize_t read_some(::archive*, void* opaque, const void** bytes) {
  auto& source = *static_cast<Source*>(opaque);
  try {
    *bytes = source.buffer.data();
    return static_cast<::la_ssize_t>(source.file.read(source.buffer));
  } catch (...) {
    source.failure = std::current_exception();
    return -1;
  }
}

class TarReader {
 public:
  explicit TarReader(const std::string& path)
      : source_(path), archive_(::archive_read_new(), ::archive_read_free) {
    CHECK(archive_ != nullptr);
    for (const auto add : {::archive_read_support_filter_xz, ::archive_read_support_filter_gzip,
                           ::archive_read_support_filter_bzip2, ::archive_read_support_filter_zstd,
                           ::archive_read_support_format_tar})
      check(add(archive_.get()));
    check(::archive_read_open(archive_.get(), &source_, nullptr, read_some, nullptr));
  }

  // The next entry; null at the end.
  ::archive_entry* next() {
    ::archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return nullptr;
    check(status);
    return entry;
  }
  // Appends some of its bytes; false at its end.
  bool read(std::string& out) {
    const auto count =
        ::archive_read_data(archive_.get(), buffer_.data(), static_cast<std::size_t>(kReadBytes));
    if (count < 0) fail();
    out.append(buffer_.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

 private:
  void check(int status) {
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail();
  }
  [[noreturn]] void fail() {
    if (source_.failure) std::rethrow_exception(source_.failure);
    const char* said = ::archive_error_string(archive_.get());
    throw UsageError(str(source_.file.path(), ": not a whole tar archive: ",
                         said == nullptr ? "its bytes make no sense" : said),
                     "copy or make the file again; `tar -tf` checks it");
  }

  Source source_;
  std::unique_ptr<::archive, decltype(&::archive_read_free)> archive_;
  std::vector<char> buffer_ = std::vector<char>(kReadBytes);
};

// What a second name of a file holds, which the archive has no bytes of.
const std::string& linked(const std::map<std::string, std::string>& files, const std::string& path,
                          const std::string& name, const std::string& other) {
  const auto found = files.find(other);
  if (found == files.end())
    throw UsageError(str(path, ": ", name, " is a link to ", other, ", which is not before it"),
                     "make the archive again, with `tar --hard-dereference`");
  return found->second;
}

// "./a/../b.txt" -> "b.txt"
std::string normal(const std::filesystem::path& path) { return path.lexically_normal().string(); }

class Unpacked {
 public:
  Unpacked(const std::string& path, std::uint64_t most) : path_(path), most_(most) {}

  void add(TarReader& tar, ::archive_entry* entry) {
    const char *given = ::archive_entry_pathname(entry), *other = ::archive_entry_hardlink(entry);
    const std::string name = given == nullptr ? str("file ", files_.size()) : given;
    const auto kind = ::archive_entry_filetype(entry);
    const char* to = kind == AE_IFLNK ? ::archive_entry_symlink(entry) : nullptr;
    links_.erase(name);
    if (other == nullptr && to != nullptr) {
      files_.erase(name);
      links_[name] = normal(std::filesystem::path(name).parent_path() / to);
    }
    if (other == nullptr && kind != AE_IFREG) return;
    std::string bytes;
    if (other != nullptr && ::archive_entry_size(entry) == 0)
      bytes = linked(files_, path_, name, other);
    do check_size(bytes.size());
    while (tar.read(bytes));
    put(name, std::move(bytes));
  }

  // What a symbolic link names may come after it, and be one, too.
  std::map<std::string, std::string> finish() {
    constexpr int kMostLinks = 40;  // one after another, as for Linux
    std::map<std::string, std::string> names, next;
    for (const auto& [name, bytes] : files_) names[normal(name)] = name;
    for (const auto& [name, target] : links_) next[normal(name)] = target;
    std::vector<std::string> lost;
    for (const auto& [name, target] : links_) {
      std::string at = target;
      for (int i = 1; i < kMostLinks && next.contains(at); ++i) at = next.at(at);
      const auto found = names.find(at);
      if (found == names.end()) {
        lost.push_back(name);
        continue;
      }
      check_size(files_.at(found->second).size());
      put(name, files_.at(found->second));
    }
    if (!lost.empty())
      spdlog::warn("{}: {} symbolic links to what is no file in it are left out, {} among them",
                   path_, lost.size(), lost.front());
    return std::move(files_);
  }

 private:
  void check_size(std::uint64_t more) const {
    if (total_ + more > most_)
      throw UsageError(str(path_, ": holds more than ", most_, " bytes of files"),
                       "cut it into several archives");
  }
  void put(const std::string& name, std::string bytes) {
    total_ += bytes.size();
    files_[name] = std::move(bytes);
  }

  const std::string& path_;
  std::uint64_t most_, total_ = 0;
  std::map<std::string, std::string> files_, links_;
};

}  // namespace

std::map<std::string, std::string> read_archive(const std::string& path, std::uint64_t most) {
  TarReader tar(path);
  Unpacked files(path, most);
  while (::archive_entry* entry = tar.next()) files.add(tar, entry);
  return files.finish();
}

}  // namespace smelt
