#include "checkpoint/layout.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/error.h"
#include "format/crc32c.h"

namespace smelt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "checkpoint-";

}  // namespace

std::string checkpoint_path(const std::string& model_dir, std::int64_t step) {
  return str(model_dir, "/", kPrefix, step);
}

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || str(step) != name || step < 0) return std::nullopt;
  return step;
}

std::vector<fs::path> directory_entries(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    paths.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw_errno("read directory", directory.string(), error.value());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string shard_name(std::size_t index, std::size_t count) {
  char name[80];
  std::snprintf(name, sizeof(name), "tensors-%05zu-of-%05zu.safetensors", index, count);
  return name;
}

std::string commit_text(std::string_view manifest) {
  return str("crc32c of ", kManifestFile, ": ", hex_text(crc32c(manifest)), "\n");
}

std::string hex_text(std::uint32_t value) {
  char digits[9];
  std::snprintf(digits, sizeof(digits), "%08x", value);
  return digits;
}

}  // namespace smelt
