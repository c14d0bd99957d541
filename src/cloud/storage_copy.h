// Copies files to, from and within gs:// in parallel, with checks of their checksums.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloud/storage_files.h"

namespace smelt::cloud {

// A file to copy.
struct CopyJob {
  StoredFile from;
  std::string to;
};

// Returns the destination of each file of the sources, by the rules of cp: inside `target` if it is
// a folder, ends with '/' or there are several sources; else `target` itself. Throws UsageError if
// neither side is on gs://, if two files have the same destination, or if an object's name is not a
// valid local path. `api` is the connection to the target's bucket.
std::vector<CopyJob> plan_copies(StorageApi& api, const std::vector<FileSource>& sources,
                                 const std::string& target);

// Steps that make one folder equal to another. Files are equal if their sizes and checksums are.
struct SyncPlan {
  std::vector<CopyJob> copies;
  std::vector<StoredFile> surplus;  // files that exist only in the target
  std::size_t unchanged = 0;
  std::vector<std::string> left_out;  // names in the source that are neither files nor folders
};
enum class Below { this_folder, all };
// Compares two folders.
SyncPlan plan_sync(StorageApi& source, const std::string& from, StorageApi& target,
                   const std::string& to, Below below);
// Compares two lists of files by their names below the folders.
SyncPlan plan_sync(std::vector<StoredFile> sources, std::vector<StoredFile> targets,
                   const std::string& to);

// Copies the files. Calls `copied` with the number of bytes copied, from any thread. A download
// appears only if its CRC-32C matches. An upload is checked right after it; if the checksum
// differs, it is removed and SystemError is thrown. Throws Stopped after a signal if there is a
// StopSignal.
void copy_files(StorageApi& api, const std::vector<CopyJob>& jobs,
                const std::function<void(std::uint64_t)>& copied);

void remove_stored(StorageApi& api, const std::vector<StoredFile>& files);

}  // namespace smelt::cloud
