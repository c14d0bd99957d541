// Tar archives, packed by xz, gzip, bzip2, zstd or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace smelt {

// The most bytes that a whole archive may unpack to in memory.
constexpr std::uint64_t kMostArchiveBytes = std::uint64_t{1} << 30;

// Returns the contents of the regular files in an archive by their names, including links to them.
// If a name occurs twice, the later file counts. A symbolic link to anything else is left out with
// a warning. Throws UsageError if the file is not an archive, is damaged, cannot be read, or
// unpacks to more than `most` bytes.
std::map<std::string, std::string> read_archive(const std::string& path,
                                                std::uint64_t most = kMostArchiveBytes);

// Returns whether an archive has a file of this name; reads the archive up to it. Throws as
// read_archive() does.
bool holds_file(const std::string& path, const std::string& name);

}  // namespace smelt
