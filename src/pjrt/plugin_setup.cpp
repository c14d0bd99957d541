#include "pjrt/plugin_setup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/run_program.h"
#include "io/filesystem/descriptor.h"
#include "io/filesystem/file.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPythonBytes = 64 << 20;  // size of a virtual environment with pip

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw_errno("make", path, error.value());
}

void remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw_errno("remove", path, error.value());
}

void rename_folder(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw_errno("rename", from, error.value());
}

// Takes the setup lock. It is held until the descriptor is closed and pip has ended: a pip process
// that outlives a killed smelt inherits the descriptor and may still write.
io::Descriptor lock(const std::string& path) {
  io::Descriptor file(::open(path.c_str(), O_CREAT | O_RDWR, 0600));
  if (!file.is_open()) throw_errno("make", path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) throw_errno("lock", path, errno);
  throw UsageError(str("setup: another smelt setup is running: ", path, " is locked"),
                   "wait until it ends");
}

std::int64_t size_of_files(const std::string& folder) {
  std::int64_t size = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    size += static_cast<std::int64_t>(entry.file_size());
  return size;
}

}  // namespace

PluginSetup::PluginSetup(std::vector<Wheel> wheels, std::string folder)
    : wheels_(std::move(wheels)), folder_(std::move(folder)) {}

std::int64_t PluginSetup::download_bytes() const {
  std::int64_t sum = 0;
  for (const Wheel& wheel : wheels_) sum += wheel.download_bytes;
  return sum;
}

std::int64_t PluginSetup::unpacked_bytes() const {
  std::int64_t sum = 0;
  for (const Wheel& wheel : wheels_) sum += wheel.unpacked_bytes;
  return sum;
}

std::string PluginSetup::partial(std::string_view name) const {
  return str(folder_, ".partial/", name);
}

std::string PluginSetup::requirements() const {
  std::string text;
  for (const Wheel& wheel : wheels_) text += wheel.requirement;
  return text;
}

bool PluginSetup::installed() const {
  const std::string stamp = str(folder_, "/", kWheelsFile);
  return fs::exists(stamp) && io::read_file(stamp) == requirements();
}

void PluginSetup::check_folder_is_ours() const {
  if (!fs::exists(folder_) || fs::exists(str(folder_, "/", kWheelsFile))) return;
  throw UsageError(str("setup: ", folder_, " exists but was not created by smelt setup"),
                   "move or delete it");
}

void PluginSetup::require_space() const {
  const std::int64_t needed = std::max<std::int64_t>(
      0, download_bytes() - size_of_files(partial("wheels")) + unpacked_bytes() + kPythonBytes);
  std::error_code error;
  const auto available = static_cast<std::int64_t>(fs::space(partial(""), error).available);
  if (error || needed <= available) return;
  throw SystemError(
      str("setup: ", folder_, " needs ", bytes_text(static_cast<double>(needed)),
          " of disk space, available are ", bytes_text(static_cast<double>(available))),
      "free some space, or set XDG_DATA_HOME to a folder on another disk");
}

// Creates a virtual environment for pip, because the system's pip may be missing, patched or
// locked. Throws UsageError if python3 or a module is missing.
void PluginSetup::make_python() const {
  const std::string complete = partial("python/.whole");
  const std::vector<std::string> earlier{partial("python/bin/python"), "-c", "import pip"};
  if (fs::exists(complete) && run_program(earlier) == 0) return;  // from an earlier attempt
  constexpr const char* kProbe =
      "from importlib.util import find_spec as f; exit(not (f('venv') and f('ensurepip')))";
  if (run_program({"python3", "-c", kProbe}) != 0)
    throw UsageError("setup: found no python3 with the modules venv and ensurepip in PATH",
                     "apt-get install python3 python3-venv");
  if (run_program({"python3", "-m", "venv", "--clear", partial("python")}) != 0)
    throw SystemError(
        str("setup: python3 could not create a virtual environment in ", partial("python")),
        "see its message above");
  io::write_file(complete, "");
}

int PluginSetup::pip(std::vector<std::string> arguments) const {
  // Temporary files must be on the disk that was checked, so that they can be renamed into place.
  std::vector<std::string> words{"env", "TMPDIR=" + partial("tmp"), partial("python/bin/python"),
                                 "-m", "pip"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  // The plugin does not use Python, so wheels for one Python version fit all.
  for (const char* word :
       {"--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--require-hashes",
        "--only-binary=:all:", "--implementation=cp", "--python-version=3.11", "--abi=cp311"})
    words.emplace_back(word);
  if (::isatty(STDERR_FILENO) == 0) words.emplace_back("--quiet");
  return run_program(words);
}

void PluginSetup::download(const Wheel& wheel) const {
  io::write_file(partial("wheel.txt"), wheel.requirement);
  if (pip({"download", "--dest", partial("wheels"), "-r", partial("wheel.txt")}) == 0) return;
  throw SystemError(str("setup: pip could not download ", wheel.name, " ", wheel.version,
                        "; see its message above"),
                    "check the network and run smelt setup again; downloaded wheels are reused");
}

void PluginSetup::unpack() const {
  io::write_file(partial("wheels.txt"), requirements());
  if (pip({"install", "--no-index", "--find-links", partial("wheels"), "--no-compile", "--target",
           partial("packages"), "-r", partial("wheels.txt")}) != 0)
    throw SystemError(
        str("setup: pip could not unpack ", partial("wheels"), "; see its message above"),
        str("delete ", partial(""), " and run smelt setup again"));
}

void PluginSetup::publish() const {
  // This file marks a complete folder, so it is written last.
  io::write_file(partial(str("packages/", kWheelsFile)), requirements());
  const io::Descriptor disk(
      ::open(partial("packages").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!disk.is_open() || ::syncfs(disk.get()) != 0)
    throw_errno("write", partial("packages"), errno);
  if (fs::exists(folder_)) rename_folder(folder_, partial("old"));
  rename_folder(partial("packages"), folder_);
  remove_folder(partial(""));
}

void PluginSetup::install() const {
  check_folder_is_ours();
  make_folder(fs::path(folder_).parent_path().string());
  const io::Descriptor held = lock(folder_ + ".lock");
  if (installed()) return;  // another process finished it while this one waited
  for (const char* left : {"tmp", "packages", "old"}) remove_folder(partial(left));
  for (const char* folder : {"wheels", "tmp"}) make_folder(partial(folder));
  require_space();
  make_python();
  for (std::size_t i = 0; i < wheels_.size(); ++i) {
    log_info("downloading {} {}, {} ({} of {})", wheels_[i].name, wheels_[i].version,
             bytes_text(static_cast<double>(wheels_[i].download_bytes)), i + 1, wheels_.size());
    download(wheels_[i]);
  }
  log_info("unpacking {}", bytes_text(static_cast<double>(unpacked_bytes())));
  unpack();
  publish();
}

}  // namespace smelt::pjrt
