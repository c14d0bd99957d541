#include "cli/options/flag_file.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"

namespace smelt::cli {
namespace {

constexpr std::string_view kFlagFile = "--flagfile";

std::vector<std::string> flags_of(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view word = trim(line);
    if (!word.empty() && !word.starts_with('#') && !word.starts_with("//")) out.emplace_back(word);
  }
  return out;
}

class FlagFiles {
 public:
  void add(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& word = arguments[i];
      if (word.starts_with(str(kFlagFile, "=")))
        read(word.substr(kFlagFile.size() + 1));
      else if (word != kFlagFile)
        out_.push_back(word);
      else if (i + 1 < arguments.size())
        read(arguments[++i]);
      else
        read("");
    }
  }
  std::vector<std::string> out() && { return std::move(out_); }

 private:
  void read(const std::string& path) {
    if (path.empty())
      throw UsageError(str(kFlagFile, " has no value"), "write the path of a flag file after it");
    if (std::ranges::find(open_, path) != open_.end()) return;
    if (!io::exists(path))
      throw UsageError(str(kFlagFile, ": ", path, " does not exist"), "correct the path");
    open_.push_back(path);
    add(flags_of(io::read_file(path, io::kSmallFileBytes)));
    open_.pop_back();
  }

  std::vector<std::string> out_, open_;
};

}  // namespace

std::vector<std::string> with_flag_files(const std::vector<std::string>& arguments) {
  FlagFiles files;
  files.add(arguments);
  return std::move(files).out();
}

}  // namespace smelt::cli
