// What a path of `smelt storage` names: files of this machine or objects of gs://, by itself or by
// a pattern.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "cloud/storage_api.h"
#include "io/filesystem/path.h"

namespace smelt {

// "gs://bucket/key", with the key as it is: an object's name may end with '/'.
struct GsPath {
  std::string user;  // "" or "anonymous"
  std::string bucket, key;
  bool is_literal = false;  // wildcards in the key are characters (kLiteralName)

  // "gs://bucket/other", to be shown.
  std::string shown(std::string_view other) const;
  // The path of another object, which parse_gs() and parse_remote() take apart into exactly this
  // key (RemotePath::with_key).
  std::string with_key(std::string_view other) const;
  std::string folder_key() const;  // with one '/' behind it; "" for the bucket itself
};

// UsageError for what is not on gs://, for a path with options such as a server's name (one server
// is asked for all), and for "gs://bucket/?=", which names nothing. Text that looks like options
// but has no known name is part of the object's name.
GsPath parse_gs(const std::string& path);

// Returns a local path unchanged. Returns a path on gs:// without a trailing '/', and escaped (see
// kLiteralName) if it needs to be, so that names can be appended to it.
std::string storage_place(const std::string& path);

struct StoredFile {
  std::string name;          // below its source's root; "" when it is the root
  std::string path;          // of an object: GsPath::with_key()
  std::uint64_t size = 0;    // bytes
  std::string crc32c = {};   // crc32c_text(); "" = not known yet
  std::string updated = {};  // of an object

  // An object that consoles make to show an empty folder.
  bool is_placeholder() const { return path.ends_with(str("/", kLiteralName)); }
};

// A file or a folder that was named.
struct FileSource {
  std::string root;  // its own name; "" where what is in it goes without, as of "."
  bool is_folder = false;
  std::vector<StoredFile> files;      // in order of name
  std::vector<std::string> left_out;  // what is neither file nor folder
};

// Those that a path or a pattern names, if any; '*' and '?' match no '/', '**' does. A path that
// ends with '/' names only what is below it, not the object of that name; a literal one
// (kLiteralName) only the object of exactly that name.
std::vector<FileSource> find_sources(StorageApi& api, const std::string& path);

// UsageError: that there are none.
[[noreturn]] void throw_no_sources(const std::string& path);

// What `ls` shows of a path: what is in a folder, and files; folders have '/' behind their path,
// and no size. UsageError when there is none of either.
struct StorageEntry {
  std::string path;  // GsPath::shown()
  std::uint64_t size = 0;
  std::string updated = {};
};
std::vector<StorageEntry> list_entries(StorageApi& api, const std::string& path, bool recursive);

// Whether there is a folder of this name, or a bucket.
bool is_storage_folder(StorageApi& api, const std::string& path);

// The files below a folder, none where it is not there. UsageError for a file and a bucket that is
// not there. `left_out`: the names of what is neither file nor folder, as links to folders.
std::vector<StoredFile> files_below(StorageApi& api, const std::string& folder,
                                    std::vector<std::string>* left_out = nullptr);

}  // namespace smelt
