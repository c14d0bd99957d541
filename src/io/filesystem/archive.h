// Tar archives, packed by xz, gzip, bzip2, zstd or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace smelt {

// What a whole archive is unpacked to in memory, at most.
constexpr std::uint64_t kMostArchiveBytes = std::uint64_t{1} << 30;

// The regular files in an archive by their names, links to them among these; of two with one name
// the later. Symbolic links to what is no file in the archive are left out with a warning.
// UsageError naming the archive when it cannot be read, is none, is damaged, or unpacks to more
// than `most` bytes.
std::map<std::string, std::string> read_archive(const std::string& path,
                                                std::uint64_t most = kMostArchiveBytes);

// Whether an archive has a file of this name; it is read up to there. As read_archive() where it
// cannot be read.
bool holds_file(const std::string& path, const std::string& name);

}  // namespace smelt
