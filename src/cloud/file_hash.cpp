#include "cloud/file_hash.h"

#include "base/error.h"
#include "base/progress.h"
#include "io/filesystem/archive.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_digest.h"

namespace smelt::cloud {

std::string file_sha256(const std::string& path) {
  io::InputFile file(path);
  io::Hasher sum(true);
  std::string piece(std::size_t{1} << 20, '\0');
  while (const std::size_t n = file.read(piece)) sum.add(std::string_view(piece).substr(0, n));
  return sum.hex();
}

std::string package_text(const std::string& path) {
  constexpr const char* kHint = "create one with scripts/package, and give it with --package FILE";
  if (!io::lower_case_name(path).ends_with(".tar.zst"))
    throw UsageError(str(path, " is not a package: its name must end in .tar.zst"), kHint);
  if (!io::exists(path)) throw UsageError(str("package ", path, " does not exist"), kHint);
  if (!io::holds_file(path, "smelt/bin/smelt"))
    throw UsageError(str(path, " is not a package: it has no smelt/bin/smelt"), kHint);
  return str(path, ", ", bytes_text(static_cast<double>(io::file_size(path))));
}

}  // namespace smelt::cloud
