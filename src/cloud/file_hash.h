// Files by their content: how what was brought somewhere is known to be there.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace smelt {

// SHA-256 of a file's bytes, 64 hexadecimal digits; as read_file() where it cannot be read.
std::string file_sha256(const std::string& path);
std::string text_sha256(const std::string& text);

void copy_file(const std::string& from, const std::string& to);
struct StagedFile {
  std::string from, to;     // here, there
  std::string sha256 = {};  // "": not known yet
};
// Copies files but for those that `list`, a file of the target that is written anew, says are there
// with the same content. What it says besides was an earlier try's and is removed. How many were
// copied.
int copy_once(const std::vector<StagedFile>& files, const std::string& list,
              const std::function<void(const std::string&)>& tell);
// All files below a folder but those that `skips` names by their path in it.
int copy_tree(const std::string& from, const std::string& to,
              const std::function<bool(const std::string& path)>& skips);

// What a package of scripts/package is, in words. UsageError for another file.
std::string package_text(const std::string& path);

}  // namespace smelt
