#include "store/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "store/folder.h"
#include "store/path.h"
#include "store/remote_file.h"

namespace smelt {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

std::unique_ptr<std::FILE, int (*)(std::FILE*)> open_file(const std::string& path,
                                                          const char* mode) {
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (file == nullptr) throw_errno("open", path, errno);
  std::setvbuf(file, nullptr, _IOFBF, kBufferBytes);
  return {file, &std::fclose};
}

constexpr std::string_view kPartial = ".partial-";

std::string partial_name(const std::string& path) { return str(path, kPartial, ::getpid()); }

void make_parents(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) return;
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) throw_errno("create directory", parent.string(), error.value());
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

}  // namespace

std::string read_file(const std::string& path, std::uint64_t most) {
  InputFile file(path);
  const auto check = [&](std::uint64_t size) {
    if (size > most)
      throw UsageError(
          str("read: ", path, ": more than the ", most >> 20, " MiB that such a file may have"),
          "is it the file that you meant?");
  };
  check(file.size());
  std::string content(file.size(), '\0');
  content.resize(file.read(content));
  std::array<char, 1 << 16> more;  // of a pipe, whose size is not known
  while (const std::size_t count = file.read(more)) {
    content.append(more.data(), count);
    check(content.size());
  }
  return content;
}

InputFile::InputFile(std::string path) : path_(std::move(path)), file_(nullptr, &std::fclose) {
  if (is_remote(path_)) {
    remote_ = std::make_shared<RemoteReader>(path_);
    size_ = remote_->size();
    return;
  }
  std::error_code error;
  if (fs::is_directory(path_, error)) throw_errno("open", path_, EISDIR);
  file_ = open_file(path_, "rb");
  if (std::fseek(file_.get(), 0, SEEK_END) != 0) return;  // a pipe
  size_ = static_cast<std::uint64_t>(std::ftell(file_.get()));
  std::rewind(file_.get());
}

std::size_t InputFile::read(std::span<char> out) {
  if (remote_) return remote_->read(out);
  const std::size_t count = std::fread(out.data(), 1, out.size(), file_.get());
  if (count < out.size() && std::ferror(file_.get())) throw_errno("read", path_, errno);
  return count;
}

void InputFile::seek(std::uint64_t offset) {
  if (remote_) return remote_->seek(offset);
  if (::fseeko(file_.get(), static_cast<::off_t>(offset), SEEK_SET) != 0)
    throw_errno("seek", path_, errno);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)), file_(nullptr, &std::fclose) {
  if (is_remote(path_)) {
    remote_ = std::make_shared<RemoteWriter>(path_);
    return;
  }
  partial_ = partial_name(path_);
  make_parents(path_);
  file_ = open_file(partial_, "wb");
}

OutputFile::~OutputFile() {
  if (partial_.empty()) return;
  file_.reset();
  std::remove(partial_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  if (remote_) return remote_->write(bytes);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    throw_errno("write", path_, errno);
}

void OutputFile::commit() {
  if (remote_) return remote_->commit();
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0)
    throw_errno("write", path_, errno);
  file_.reset();
  rename_into_place(partial_, path_);
  partial_.clear();
}

void remove_abandoned(const std::vector<std::string>& paths) {
  std::set<fs::path> folders;
  std::set<std::string> names;
  for (const std::string& path : paths) {
    const fs::path folder = fs::path(path).parent_path();
    folders.insert(folder.empty() ? "." : folder);
    names.insert(fs::path(path).filename());
  }
  std::error_code ignored;
  for (const fs::path& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      const std::size_t end = name.rfind(kPartial);
      if (end != std::string::npos && names.contains(name.substr(0, end)))
        fs::remove(entry.path(), ignored);
    }
}

void write_file(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

OutputDirectory::OutputDirectory(std::string path, Earlier earlier)
    : path_(std::move(path)), earlier_(earlier) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  const auto status = file_status(path_);
  const bool replaced = earlier == Earlier::replaced && status && status->is_folder;
  if (status && !replaced && !(status->is_folder && list_folder(path_).empty()))
    throw UsageError(str("output: ", path_, " already holds something else"),
                     "choose another folder, or remove this one first");
  if (is_remote(path_)) {
    partial_ = path_;
    return;
  }
  partial_ = partial_name(path_);
  make_parents(path_);
  std::error_code error;
  fs::create_directory(partial_, error);
  if (error) throw_errno("create directory", path_, error.value());
}

OutputDirectory::~OutputDirectory() {
  if (partial_.empty()) return;
  try {
    remove_tree(partial_);
  } catch (const Error&) {  // already failing: what is left has no marker
  }
}

std::string OutputDirectory::file(std::string_view name) const { return join_path(partial_, name); }

void OutputDirectory::commit() {
  if (!is_remote(path_)) {
    if (earlier_ == Earlier::replaced) remove_tree(path_);
    rename_into_place(partial_, path_);
  }
  partial_.clear();
}

}  // namespace smelt
