#include "checkpoint/storage/layout.h"

#include <charconv>
#include <cstdio>

#include "base/error.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"

namespace smelt::checkpoint {
namespace {

constexpr std::string_view kPrefix = "checkpoint";

}  // namespace

std::string checkpoint_path(const std::string& model_dir, std::int64_t step,
                            CheckpointNames names) {
  return io::join_path(model_dir, str(kPrefix, names == CheckpointNames::smelt ? '-' : '_', step));
}

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (!name.starts_with('-') && !name.starts_with('_')) return std::nullopt;
  name.remove_prefix(1);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || str(step) != name || step < 0) return std::nullopt;
  return step;
}

std::string shard_name(std::size_t index, std::size_t count) {
  char name[80];
  std::snprintf(name, sizeof(name), "tensors-%05zu-of-%05zu.safetensors", index, count);
  return name;
}

std::string checksum_text(std::span<const std::byte> bytes) {
  return io::hex_text(io::crc32c({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

std::string commit_text(std::string_view manifest) {
  return str("crc32c of ", kManifestFile, ": ", io::hex_text(io::crc32c(manifest)), "\n");
}

void throw_damaged(const std::string& path, const std::string& what, const std::string& hint) {
  throw DamagedCheckpoint(str("checkpoint: ", path, ": ", what), hint);
}

}  // namespace smelt::checkpoint
