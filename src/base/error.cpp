#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace smelt {

ErrorParts error_parts(std::string_view text) {
  const std::size_t at = text.find(kHintMark);
  if (at == text.npos) return {std::string(text), ""};
  return {std::string(text.substr(0, at)), std::string(text.substr(at + kHintMark.size()))};
}

void throw_errno(std::string_view action, std::string_view path, int error_number) {
  const std::string what = str(action, ": ", path, ": ", std::strerror(error_number));
  switch (error_number) {
    case ENOENT:
      throw UsageError(what, "check the path");
    case EACCES:
    case EPERM:
      throw UsageError(what, "give this user permission, or choose another path");
    case EROFS:
      throw UsageError(what, "choose a path on a disk that is not mounted read-only");
    case EISDIR:
      throw UsageError(what, "name a file instead of the folder");
    case ENOTDIR:
    case EEXIST:
      throw UsageError(what, "choose another path");
    case ENOSPC:
    case EDQUOT:
      throw SystemError(what, "free some space, or write to another disk");
    default:
      throw SystemError(what);
  }
}

namespace internal {

void check_failed(const char* file, int line, const char* condition, const std::string& detail) {
  throw BugError(
      str(file, ":", line, ": CHECK(", condition, ") failed", detail.empty() ? "" : ": ", detail),
      "this is a bug in smelt: please report it with the command that you ran");
}

}  // namespace internal
}  // namespace smelt
