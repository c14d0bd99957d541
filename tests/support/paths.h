// Where tests find the source tree and put what they write.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace smelt {

// A file of the source tree, e.g. source_path("tests/golden/x.json").
std::string source_path(std::string_view relative);

// A fresh directory, removed with all it holds at the end of the scope.
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
