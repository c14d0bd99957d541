#include "support/paths.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"

namespace smelt {
namespace {

// Returns TMPDIR if it is set. Otherwise prefers a file system in memory, since an fsync on a disk
// takes milliseconds and tests write thousands of files.
std::filesystem::path temporary_folder() {
  constexpr std::uintmax_t kEnough = std::uintmax_t{4} << 30;
  std::error_code error;
  if (std::getenv("TMPDIR") == nullptr && ::access("/dev/shm", W_OK) == 0 &&
      std::filesystem::space("/dev/shm", error).available >= kEnough && !error)
    return "/dev/shm";
  return std::filesystem::temp_directory_path();
}

}  // namespace

std::string source_path(std::string_view relative) { return str(SMELT_SOURCE_DIR, "/", relative); }

TempDir::TempDir() {
  std::string pattern = (temporary_folder() / "smelt-XXXXXX").string();
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace smelt
