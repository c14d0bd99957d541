// SHA-256 checksums of files, which verify that a copied file is complete.
#pragma once

#include <string>

namespace smelt::cloud {

// Returns the SHA-256 of a file's content as 64 hexadecimal digits. Throws like read_file().
std::string file_sha256(const std::string& path);

// Returns a description of a package made by scripts/package. Throws UsageError for another file.
std::string package_text(const std::string& path);

}  // namespace smelt::cloud
