// Files by their content: how what was brought somewhere is known to be there.
#pragma once

#include <string>

namespace smelt {

// SHA-256 of a file's bytes, 64 hexadecimal digits; as read_file() where it cannot be read.
std::string file_sha256(const std::string& path);
std::string text_sha256(const std::string& text);

void copy_file(const std::string& from, const std::string& to);

// What a package of scripts/package is, in words. UsageError for another file.
std::string package_text(const std::string& path);

}  // namespace smelt
