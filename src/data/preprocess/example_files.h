// The output files of example builders: record files, an index for each
// (docs/reference/formats/record_index.md), and a description next to the first file or in a folder
// reserved for them (docs/reference/formats/description.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smelt::data {

// How shards are named.
enum class ShardNames {
  sortable,  // dir/train-00000-of-00016.tfrecord
  original,  // dir/train.tfrecord-0-of-16, as in google-research/electra
};

struct ExampleFiles {
  std::vector<std::string> outputs;
  bool indexes = true, described = true;  // whether to write indexes and the description
  bool overwrite = false;
  // If set, the output folder is reserved for these files, whose names begin with this, and no
  // indexes are written. Without `overwrite` the folder must be empty. With `overwrite` it must not
  // contain other files whose names begin with this, because they would be read as records.
  std::string own_name = {};

  std::string description() const;
  // Returns all files to write: outputs, indexes and the description.
  std::vector<std::string> all() const;
};

// Returns the `shards` file names for one path.
std::vector<std::string> shards_of(const std::string& path, std::int64_t shards, ShardNames names);

// Returns the files of a comma-separated list, or the shards of the one file in it if `shards` is
// above 1. Throws UsageError for an empty or too long list, for patterns, and for shards of several
// files.
std::vector<std::string> output_names(const std::string& list, std::int64_t shards,
                                      ShardNames names = ShardNames::sortable);

// Throws UsageError if a file would be written twice, or both read and written, even under
// different names.
void check_apart(const ExampleFiles& files, const std::vector<std::string>& inputs);

// Throws UsageError if a file to be written already exists. With `overwrite`, throws only if an
// index or description would replace a file of another kind. Ignores devices and pipes, to
// which examples are written directly. ours[i] is true if an earlier run of this job wrote output
// i: it and its index may exist.
void check_free(const ExampleFiles& files, const std::vector<bool>& ours = {});

// Removes the old description before the first output is replaced, because it would no longer
// match. Outputs and indexes are replaced atomically (OutputFile).
void remove_old_description(const ExampleFiles& files);

// Returns whether the path is a device or pipe, which has no content to keep and no accompanying
// files.
bool is_device(const std::string& path);

// Calls body(0), …, body(count - 1), several at once if `path` is on an object store, where each
// call may cost a request.
void for_each_file(std::size_t count, const std::string& path,
                   const std::function<void(std::size_t)>& body);

}  // namespace smelt::data
