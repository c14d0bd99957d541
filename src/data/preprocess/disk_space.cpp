#include "data/preprocess/disk_space.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/preprocess/require.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/remote_file.h"

namespace smelt::data {
namespace {

// Bytes per token of English text with a vocabulary of 30,000 pieces.
constexpr double kBytesOfToken = 4.5;
constexpr double kPacked = 3;  // compression ratio of text
constexpr double kSpilledBytes =
    2.4;                            // bytes in temporary files per token of text or of an example
constexpr double kRecordBytes = 5;  // bytes per token in a record
constexpr const char* kIgnore = "or use --ignore-space if the text has fewer tokens than estimated";

double unpacked(const std::string& path, std::uint64_t size) {
  const std::string name = io::lower_case_name(path);
  constexpr std::array kEndings{".gz", ".bz2", ".zst", ".xz", ".parquet"};
  const bool packed =
      std::ranges::any_of(kEndings, [&](const char* end) { return name.ends_with(end); });
  return static_cast<double>(size) * (packed ? kPacked : 1);
}

struct DiskUse {
  std::string folder;  // an existing folder on the disk
  std::uint64_t free = 0, work = 0, outputs = 0;
  std::uint64_t needed() const { return work + outputs; }
};

std::string bytes_of(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// Returns the disk usage by device number.
std::map<std::uint64_t, DiskUse> uses(const CheckedJob& checked, const SpaceNeeded& needed,
                                      const std::string& work) {
  std::map<std::uint64_t, DiskUse> out;
  const auto disk_of = [&](const std::string& path) -> DiskUse* {
    const auto disk = io::disk_space(path);
    if (!disk) return nullptr;
    return &out.try_emplace(disk->device, DiskUse{.folder = path, .free = disk->free})
                .first->second;
  };
  if (DiskUse* disk = disk_of(work)) disk->work = needed.work;
  const auto& files = checked.files.outputs;
  for (const std::string& path : files) {
    const std::string parent = io::parent_path(path);
    if (DiskUse* disk = is_device(path) ? nullptr : disk_of(parent.empty() ? "." : parent))
      disk->outputs += needed.outputs / files.size();
  }
  return out;
}

void check_objects(const CheckedJob& checked, const SpaceNeeded& needed) {
  const auto& files = checked.files.outputs;
  const std::uint64_t each = needed.outputs / files.size();
  const std::uint64_t most = io::most_object_bytes(files.front());
  require(each / 2 <= most,
          str("output ", files.front(), " would be about ", bytes_of(each),
              ", more than the maximum object size of S3, ", bytes_of(most)),
          str("use --shards ", 2 * needed.outputs / most + 1, ", ", kIgnore));
}

}  // namespace

SpaceNeeded space_needed(const CheckedJob& checked, const std::vector<std::uint64_t>& sizes,
                         std::uint64_t passes) {
  double tokens = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    tokens += unpacked(checked.inputs[i], sizes[i]) / kBytesOfToken;
  const double examples = tokens * static_cast<double>(passes);
  return {.work = static_cast<std::uint64_t>((tokens + examples) * kSpilledBytes),
          .outputs = static_cast<std::uint64_t>(examples * kRecordBytes)};
}

void check_space(const CheckedJob& checked, const SpaceNeeded& needed, const std::string& work) {
  if (needed.outputs == 0) return;  // the amount of data from a pipe is unknown
  if (!checked.job.ignore_space) check_objects(checked, needed);
  for (const auto& [device, disk] : uses(checked, needed, work)) {
    const std::string what =
        str(disk.folder, " has ", bytes_of(disk.free), " free, and about ", bytes_of(disk.needed()),
            " are needed on its disk, ", bytes_of(disk.work), " of them for temporary files and ",
            bytes_of(disk.outputs), " for examples");
    require(checked.job.ignore_space || disk.needed() / 2 <= disk.free, what,
            str("free some space, name a folder on another disk with --work or --out, ", kIgnore));
    if (disk.needed() > disk.free) log_warning("training data: {}", what);
  }
  log_info("temporary files in {}, about {}", work, bytes_of(needed.work));
}

}  // namespace smelt::data
