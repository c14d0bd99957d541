// Git LFS pointers: the small text files that a repository holds in place of large files until they
// are downloaded.
#pragma once

#include <string>
#include <string_view>

namespace smelt::io {

// Throws UsageError if `content`, the beginning of the file `path`, is that of a Git LFS pointer.
void refuse_lfs_pointer(std::string_view content, const std::string& path);

}  // namespace smelt::io
