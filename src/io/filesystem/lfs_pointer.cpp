#include "io/filesystem/lfs_pointer.h"

#include "base/error.h"
#include "base/str.h"

namespace smelt::io {

void refuse_lfs_pointer(std::string_view content, const std::string& path) {
  if (content.starts_with("version https://git-lfs.github.com/spec/"))
    throw UsageError(str(path, ": is a Git LFS pointer, not the file itself"),
                     "download it: git lfs pull, in the repository's folder");
}

}  // namespace smelt::io
