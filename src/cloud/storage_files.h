// The files that a path or pattern of `smelt storage` names: local files or objects on gs://.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "cloud/storage_api.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {

// A path on gs://. Keeps a '/' at the end of the key, because an object's name may end with it.
struct GsPath {
  std::string user;  // "" or "anonymous"
  std::string bucket, key;
  bool is_literal = false;  // treat wildcards in the key as plain characters (kLiteralName)

  // Returns "gs://bucket/other", for display.
  std::string shown(std::string_view other) const;
  // Returns the path of another object, such that parse_gs() and parse_remote() get exactly this
  // key (RemotePath::with_key()).
  std::string with_key(std::string_view other) const;
  std::string folder_key() const;  // ends with one '/'; "" for the bucket itself
};

// Parses a path. Throws UsageError if it is not on gs://, if it has options such as a server name
// (all paths use one server), and for "gs://bucket/?=", which has no object name. Text that looks
// like an option but has no known name belongs to the object's name.
GsPath parse_gs(const std::string& path);

// Returns a local path unchanged. Returns a path on gs:// without a trailing '/', and escaped (see
// kLiteralName) if it needs to be, so that names can be appended to it.
std::string storage_place(const std::string& path);

// A file or an object.
struct StoredFile {
  std::string name;          // relative to its source's root; "" for the root itself
  std::string path;          // for an object, in the form of GsPath::with_key()
  std::uint64_t size = 0;    // bytes
  std::string crc32c = {};   // in the form of crc32c_text(); "" if not known yet
  std::string updated = {};  // time of an object's last change

  // Returns whether this is an object that cloud consoles create to show an empty folder.
  bool is_placeholder() const { return path.ends_with(str("/", io::kLiteralName)); }
};

// A file or folder that the user named.
struct FileSource {
  std::string root;  // its name at the target; "" if only its content is copied, as for "."
  bool is_folder = false;
  std::vector<StoredFile> files;      // in order of name
  std::vector<std::string> left_out;  // paths that are neither files nor folders
};

// Returns the files and folders that a path or pattern selects; may be empty. '*' and '?' do not
// match '/', but '**' does. A path with a final '/' only selects the files below that folder. A
// literal path (kLiteralName) only selects the object of exactly that name.
std::vector<FileSource> find_sources(StorageApi& api, const std::string& path);

// Throws the UsageError for a path that selects no file or folder.
[[noreturn]] void throw_no_sources(const std::string& path);

// An entry that `ls` prints: a file, or a folder with a '/' after its path and no size.
struct StorageEntry {
  std::string path;  // GsPath::shown()
  std::uint64_t size = 0;
  std::string updated = {};
};
// Returns the entries of a folder or pattern. Throws UsageError if nothing matches.
std::vector<StorageEntry> list_entries(StorageApi& api, const std::string& path, bool recursive);

// Returns whether a folder or bucket of this name exists.
bool is_storage_folder(StorageApi& api, const std::string& path);

// Returns the files below a folder; empty if it does not exist. Throws UsageError if it is a file
// or its bucket does not exist. Stores the names of entries that are neither files nor folders,
// such as links to folders, in `left_out`.
std::vector<StoredFile> files_below(StorageApi& api, const std::string& folder,
                                    std::vector<std::string>* left_out = nullptr);

}  // namespace smelt::cloud
