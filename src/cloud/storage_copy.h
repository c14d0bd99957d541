// Files from here to gs://, back, and within it, several at once, each held to its checksum.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloud/storage_files.h"

namespace smelt {

struct CopyJob {
  StoredFile from;
  std::string to;
};

// Where each file of the sources goes, as cp has it: into `target` where that is a folder, ends
// with
// '/' or there are several; else it becomes `target`. UsageError where nothing is on gs://, where
// two would be one, and for an object whose name is none that a folder here can hold. `api` is the
// target's, here and below.
std::vector<CopyJob> plan_copies(StorageApi& api, const std::vector<FileSource>& sources,
                                 const std::string& target);

// What makes one folder like another. Files are alike when their sizes and checksums are.
struct SyncPlan {
  std::vector<CopyJob> copies;
  std::vector<StoredFile> surplus;  // of the target alone
  std::size_t unchanged = 0;
  std::vector<std::string> left_out;  // of the source: names of what is neither file nor folder
};
enum class Below { this_folder, all };
SyncPlan plan_sync(StorageApi& source, const std::string& from, StorageApi& target,
                   const std::string& to, Below below);
// The same of files that are known by their names below both.
SyncPlan plan_sync(std::vector<StoredFile> sources, std::vector<StoredFile> targets,
                   const std::string& to);

// `told` hears the bytes that are copied, from any thread. What arrives at this machine appears
// when its CRC-32C is right, or not at all; what was sent is asked for right behind it, and removed
// where it is another's: SystemError. Stopped after a signal that a StopSignal has heard.
void copy_files(StorageApi& api, const std::vector<CopyJob>& jobs,
                const std::function<void(std::uint64_t)>& told);

void remove_stored(StorageApi& api, const std::vector<StoredFile>& files);

}  // namespace smelt
