#include "support/paths.h"

#include <stdlib.h>

#include "base/error.h"

namespace smelt {

std::string source_path(std::string_view relative) { return str(SMELT_SOURCE_DIR, "/", relative); }

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "smelt-XXXXXX").string();
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace smelt
