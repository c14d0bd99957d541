// Tar archives, uncompressed or compressed with xz, gzip, bzip2 or zstd.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace smelt::io {

// Default limit for the unpacked size of an archive in bytes.
constexpr std::uint64_t kMostArchiveBytes = std::uint64_t{1} << 30;

// Returns the regular files of an archive, and links to them, as {name, content}. If a name occurs
// twice, the later file wins. Omits symbolic links to anything else, with a warning. Throws
// UsageError that names the archive if it cannot be read, is not an archive, is damaged or unpacks
// to more than `most` bytes.
std::map<std::string, std::string> read_archive(const std::string& path,
                                                std::uint64_t most = kMostArchiveBytes);

// Returns whether an archive contains a file of this name, and reads the archive only up to that
// file. Throws the same errors as read_archive().
bool holds_file(const std::string& path, const std::string& name);

}  // namespace smelt::io
