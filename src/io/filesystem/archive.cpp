#include "io/filesystem/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"

namespace smelt::io {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;

// The input file of libarchive. Exceptions must not propagate through libarchive's C code, so
// read_some() stores them in `failure`.
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

  // Returns the next entry, or null at the end.
  ::archive_entry* next() {
    ::archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return nullptr;
    check(status);
    return entry;
  }
  // Appends some of the entry's bytes to `out`. Returns false at the end of the entry.
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
    throw UsageError(str(source_.file.path(), ": damaged or truncated tar archive: ",
                         said == nullptr ? "invalid data" : said),
                     "copy or make the file again; `tar -tf` checks it");
  }

  Source source_;
  std::unique_ptr<::archive, decltype(&::archive_read_free)> archive_;
  std::vector<char> buffer_ = std::vector<char>(kReadBytes);
};

// Returns the normalized path: "./a/../b.txt" -> "b.txt".
std::string normal(const std::filesystem::path& path) { return path.lexically_normal().string(); }

class Unpacked {
 public:
  Unpacked(const std::string& path, std::uint64_t most) : path_(path), most_(most) {}

  void add(TarReader& tar, ::archive_entry* entry) {
    const char *given = ::archive_entry_pathname(entry), *other = ::archive_entry_hardlink(entry);
    const std::string name = given == nullptr ? str("file ", files_.size()) : normal(given);
    const auto kind = ::archive_entry_filetype(entry);
    const char* to = kind == AE_IFLNK ? ::archive_entry_symlink(entry) : nullptr;
    if (other != nullptr && ::archive_entry_size(entry) == 0) return add_name(name, normal(other));
    if (other == nullptr && to != nullptr) {
      files_.erase(name);
      links_[name] = to;
    }
    if (other == nullptr && kind != AE_IFREG) return;
    std::string bytes;
    do check_size(bytes.size());
    while (tar.read(bytes));
    put(name, std::move(bytes));
  }

  // Returns all files, after adding one for each symbolic link. A link's target may come later in
  // the archive and may be a link too. Links to folders are left out.
  std::map<std::string, std::string> finish() {
    std::vector<std::string> lost;
    for (const auto& [name, target] : links_) {
      const std::string at = resolved(name);
      if (const auto found = files_.find(at); found != files_.end()) {
        check_size(found->second.size());
        total_ += found->second.size();
        files_[name] = found->second;
      } else if (const auto in = files_.lower_bound(at + "/");
                 in == files_.end() || !in->first.starts_with(at + "/")) {
        lost.push_back(name);
      }
    }
    if (!lost.empty())
      log_warning("{}: {} symbolic links to files outside of the archive are left out, such as {}",
                  path_, lost.size(), lost.front());
    return std::move(files_);
  }

 private:
  void check_size(std::uint64_t more) const {
    if (total_ + more > most_)
      throw UsageError(str(path_, ": unpacks to more than ", most_, " bytes"),
                       "split it into several archives");
  }
  void put(const std::string& name, std::string bytes) {
    total_ += bytes.size();
    links_.erase(name);
    files_[name] = std::move(bytes);
  }
  // Adds a hard link to an earlier file or symbolic link.
  void add_name(const std::string& name, const std::string& other) {
    if (const auto link = links_.find(other); link != links_.end()) {
      files_.erase(name);
      links_[name] = link->second;
      return;
    }
    const auto file = files_.find(other);
    if (file == files_.end())
      throw UsageError(
          str(path_, ": ", name, " is a link to ", other, ", which is not earlier in the archive"),
          "make the archive again, with `tar --hard-dereference`");
    check_size(file->second.size());
    put(name, file->second);
  }
  // Returns the path that a name refers to after following symbolic links in all its parts; empty
  // if the links form a loop.
  std::string resolved(const std::string& name) const {
    constexpr int kMostLinks = 40;  // the limit of Linux
    const std::filesystem::path way(name);
    std::deque<std::filesystem::path> ahead(way.begin(), way.end());
    std::filesystem::path at;
    for (int links = 0; !ahead.empty();) {
      const std::filesystem::path part = ahead.front();
      ahead.pop_front();
      if (part.empty() || part == ".") continue;
      at = (at / part).lexically_normal();
      const auto link = links_.find(at.string());
      if (link == links_.end()) continue;
      if (++links == kMostLinks) return "";
      const std::filesystem::path to(link->second);
      ahead.insert(ahead.begin(), to.begin(), to.end());
      at = at.parent_path();
    }
    return at.string();
  }

  const std::string& path_;
  std::uint64_t most_, total_ = 0;
  std::map<std::string, std::string> files_, links_;  // links_: target by name
};

}  // namespace

std::map<std::string, std::string> read_archive(const std::string& path, std::uint64_t most) {
  TarReader tar(path);
  Unpacked files(path, most);
  while (::archive_entry* entry = tar.next()) files.add(tar, entry);
  return files.finish();
}

bool holds_file(const std::string& path, const std::string& name) {
  TarReader tar(path);
  while (::archive_entry* entry = tar.next())
    if (const char* given = ::archive_entry_pathname(entry);
        given != nullptr && normal(given) == name)
      return true;
  return false;
}

}  // namespace smelt::io
