#include "io/filesystem/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <set>

#include "base/error.h"
#include "base/number_format.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "io/filesystem/remote_file.h"
#include "io/hub/hub_files.h"

namespace smelt::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPartial = ".partial-";
constexpr int kPartialDigits = 16;

// Returns a random temporary name in the folder of `path`, which no other user can predict and
// create first.
std::string partial_name(const std::string& path) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    throw_errno("getrandom", path, errno);
  return str(path, kPartial, hex(random, kPartialDigits));
}

// Calls `once` and repeats it as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call&& once) {
  auto result = once();
  while (result < 0 && errno == EINTR) result = once();
  return result;
}

Descriptor open_file(const std::string& path, int flags) {
  const int fd = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); });
  if (fd < 0) throw_errno("open", path, errno);
  return Descriptor(fd);
}

// Returns the umask. umask() itself can only return it by changing it for all threads.
mode_t file_creation_mask() {
  constexpr std::string_view kField = "Umask:";
  std::ifstream status("/proc/self/status");
  unsigned mask = 022;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kField)) {
      const std::string_view digits = trim(std::string_view(line).substr(kField.size()));
      std::from_chars(digits.data(), digits.data() + digits.size(), mask, 8);
      break;
    }
  return static_cast<mode_t>(mask);
}

void make_parents(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) return;
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) throw_errno("create directory", parent.string(), error.value());
}

// Returns the target of a chain of symbolic links, which need not exist, so that writing replaces
// the target and not the link.
fs::path without_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  fs::path place = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(place, error)); ++links) {
    if (links == kMostLinks) throw_errno("open", path, ELOOP);
    place = place.parent_path() / fs::read_symlink(place, error);
    if (error) throw_errno("open", path, error.value());
  }
  return place;
}

void rename_into_place(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) throw_errno("rename into place", to, errno);
  // The rename itself must survive a crash of the machine: flush the directory that holds it.
  const fs::path parent = fs::path(to).parent_path();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd >= 0) {
    ::fsync(fd);
    ::close(fd);
  }
}

// Locks a partial file while it is open, which shows other processes that it is in use. Returns
// false if another process has already locked or removed it as abandoned.
bool claim(const Descriptor& file, const std::string& partial) try {
  return lock_file(file, partial) == Locked::held;
} catch (const SystemError&) {  // without locks no file is ever treated as abandoned
  return true;
}

// Removes a partial file unless the process that writes it still runs.
void remove_if_abandoned(const fs::path& partial) try {
  const Descriptor file(::open(partial.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  std::error_code ignored;
  if (file.is_open() && lock_file(file, partial) == Locked::held) fs::remove(partial, ignored);
} catch (const SystemError&) {  // without locks it is unknown whether it is abandoned
}

}  // namespace

std::string read_file(const std::string& path, std::uint64_t most) {
  InputFile file(path);
  const auto check = [&](std::uint64_t size) {
    if (size > most)
      throw UsageError(
          str("read: ", path, ": larger than the maximum of ", most >> 20, " MiB for such a file"),
          "check that this is the right file");
  };
  check(file.size());
  std::string content(file.size(), '\0');
  content.resize(file.read(content));
  std::array<char, 1 << 16> more;  // for a pipe, whose size is not known
  while (const std::size_t count = file.read(more)) {
    content.append(more.data(), count);
    check(content.size());
  }
  return content;
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  const std::string local = downloaded_path(path_);
  if (is_remote(local)) {
    remote_ = std::make_shared<RemoteReader>(path_);
    size_ = remote_->size();
    return;
  }
  file_ = open_file(local, O_RDONLY);
  struct ::stat status{};
  if (::fstat(file_.get(), &status) != 0) throw_errno("open", path_, errno);
  if (S_ISDIR(status.st_mode)) throw_errno("open", path_, EISDIR);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t InputFile::read(std::span<char> out) {
  if (remote_) return remote_->read(out);
  std::size_t done = 0;
  while (done < out.size()) {
    const auto count =
        uninterrupted([&] { return ::read(file_.get(), out.data() + done, out.size() - done); });
    if (count < 0) throw_errno("read", path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void InputFile::seek(std::uint64_t offset) {
  if (remote_) return remote_->seek(offset);
  if (::lseek(file_.get(), static_cast<::off_t>(offset), SEEK_SET) < 0)
    throw_errno("seek", path_, errno);
}

OutputFile::OutputFile(std::string path, Cache cache) : path_(std::move(path)) {
  if (is_remote(path_)) {
    remote_ = std::make_shared<RemoteWriter>(path_);
    return;
  }
  std::error_code missing;
  const fs::file_status status = fs::status(path_, missing);
  if (fs::is_directory(status)) throw_errno("write", path_, EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    file_ = open_file(path_, O_WRONLY);
    return;
  }
  place_ = without_links(path_);
  make_parents(place_);
  while (partial_.empty()) {
    std::string partial = partial_name(place_);
    file_ = open_file(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (claim(file_, partial)) partial_ = std::move(partial);
  }
  if (cache == Cache::bypassed) buffer_.begin(::fcntl(file_.get(), F_SETFL, O_DIRECT) == 0);
}

OutputFile::~OutputFile() {
  if (!partial_.empty()) std::remove(partial_.c_str());
}

void OutputFile::flush() {
  if (!remote_ && !buffer_.flush(file_.get())) throw_errno("write", path_, errno);
}

void OutputFile::write(std::string_view bytes) {
  if (remote_) return remote_->write(bytes);
  if (!buffer_.write(file_.get(), bytes)) throw_errno("write", path_, errno);
}

void OutputFile::commit() {
  if (remote_) return remote_->commit();
  flush();
  if (!partial_.empty()) {
    const int fd = file_.get();
    if (::fchmod(fd, 0666 & ~file_creation_mask()) != 0 || ::fsync(fd) != 0)
      throw_errno("write", path_, errno);
    rename_into_place(partial_, place_);
    partial_.clear();
  }
  file_.reset();
}

std::optional<std::string_view> place_of_partial(std::string_view name) {
  const std::size_t end = name.rfind(kPartial);
  if (end == name.npos) return std::nullopt;
  const std::string_view digits = name.substr(end + kPartial.size());
  if (digits.size() != kPartialDigits || digits.find_first_not_of("0123456789abcdef") != name.npos)
    return std::nullopt;
  return name.substr(0, end);
}

void remove_abandoned(const std::vector<std::string>& paths) {
  std::set<fs::path> folders;
  std::set<std::string, std::less<>> names;
  for (const std::string& path : paths) {
    if (is_remote(path)) continue;
    const fs::path place = without_links(path), folder = place.parent_path();
    folders.insert(folder.empty() ? "." : folder);
    names.insert(place.filename());
  }
  std::error_code ignored;
  for (const fs::path& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      const auto place = place_of_partial(name);
      if (place && names.contains(*place) && fs::is_regular_file(entry.symlink_status(ignored)))
        remove_if_abandoned(entry.path());
    }
}

void remove_abandoned_in(const std::string& folder) {
  if (is_remote(folder) || !is_folder(folder)) return;
  std::vector<std::string> paths;
  for (const std::string& name : list_folder(folder))
    if (const auto place = place_of_partial(name))
      paths.push_back(join_path(folder, std::string(*place)));
  if (!paths.empty()) remove_abandoned(paths);
}

void write_file(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

void copy_file(const std::string& from, const std::string& to) {
  InputFile source(from);
  OutputFile copy(to);
  std::vector<char> piece(std::size_t{1} << 20);
  while (const std::size_t size = source.read(piece)) copy.write({piece.data(), size});
  copy.commit();
}

void share_file(const std::string& from, const std::string& to) {
  if (is_remote(from) && !is_hub_path(from)) {
    const Place source = resolve(from), target = resolve(to);
    const arrow::Status status = target.system->CopyFile(source.name, target.name);
    if (!status.ok()) throw_status("copy", target, Access::write, status);
    return;
  }
  std::error_code error = std::make_error_code(std::errc::not_supported);
  if (!is_hub_path(from)) fs::create_hard_link(from, to, error);  // the cache is not to be shared
  if (error) copy_file(from, to);
}

OutputDirectory::OutputDirectory(std::string path, Earlier earlier)
    : path_(std::move(path)), earlier_(earlier) {
  if (is_hub_path(path_)) refuse_hub_output("output", path_);
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  const auto status = file_status(path_);
  const bool replaced = earlier == Earlier::replaced && status && status->is_folder;
  if (status && !replaced && !(status->is_folder && list_folder(path_).empty()))
    throw UsageError(str("output: ", path_, " exists and is not empty"),
                     "choose another folder, or remove this one");
  if (is_remote(path_)) {
    partial_ = path_;
    return;
  }
  make_parents(path_);
  std::string partial = partial_name(path_);
  if (::mkdir(partial.c_str(), 0700) != 0) throw_errno("create directory", path_, errno);
  partial_ = std::move(partial);
}

OutputDirectory::~OutputDirectory() {
  if (partial_.empty()) return;
  try {
    remove_tree(partial_);
  } catch (const Error&) {
    // A destructor must not throw. The remaining files are not used: on a disk their folder has a
    // temporary name, and on an object store the member that marks it as complete is missing.
  }
}

std::string OutputDirectory::file(std::string_view name) const { return join_path(partial_, name); }

void OutputDirectory::commit() {
  if (!is_remote(path_)) {
    if (::chmod(partial_.c_str(), 0777 & ~file_creation_mask()) != 0)
      throw_errno("write", path_, errno);
    if (earlier_ == Earlier::replaced) remove_tree(path_);
    rename_into_place(partial_, path_);
  }
  partial_.clear();
}

}  // namespace smelt::io
