// Paths of the source tree and temporary folders for tests.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace smelt {

// Returns the path of a file in the source tree, e.g. source_path("tests/golden/x.json").
std::string source_path(std::string_view relative);

// A new directory that is removed with its contents at the end of the scope.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  std::string file(std::string_view name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace smelt
