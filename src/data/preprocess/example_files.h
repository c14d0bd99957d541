// The files that examples are written to, and what stands beside them: an index for each
// (docs/reference/formats/record_index.md), a description beside the first, or in a folder that is
// theirs (docs/reference/formats/description.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smelt {

// What a file's shards are called.
enum class ShardNames {
  sortable,  // dir/train-00000-of-00016.tfrecord
  original,  // dir/train.tfrecord-0-of-16, as google-research/electra does
};

struct ExampleFiles {
  std::vector<std::string> outputs;
  bool indexes = true, described = true;  // whether they are written
  bool overwrite = false;
  // Not empty: the outputs' folder is theirs. Without `overwrite` it must be empty; with it,
  // nothing else may stand there whose name begins so, for that would be taken for records too: no
  // indexes then.
  std::string own_name = {};

  std::string description() const;
  // All that is written: outputs, indexes, the description.
  std::vector<std::string> all() const;
};

// The `shards` files of one name.
std::vector<std::string> shards_of(const std::string& path, std::int64_t shards, ShardNames names);

// The files of a comma list; with `shards` above 1 those of the one that it names. UsageError for
// none, too many, patterns, and shards of a list.
std::vector<std::string> output_names(const std::string& list, std::int64_t shards,
                                      ShardNames names = ShardNames::sortable);

// UsageError when a file that is written is also read or written twice, by whatever name.
void check_apart(const ExampleFiles& files, const std::vector<std::string>& inputs);

// UsageError when something stands in a file's place: anything without `overwrite`; with it, what
// stands in a companion's place and is none. Devices and pipes are written as they are. `ours` are
// outputs that an earlier run of this job has made, by number: they and their indexes may stay.
void check_free(const ExampleFiles& files, const std::vector<bool>& ours = {});

// Before the first output takes its place: the files are then no longer those that it describes.
// Outputs and indexes are replaced whole by those that are written (OutputFile).
void remove_old_description(const ExampleFiles& files);

// A device or a pipe, which holds nothing to be kept and has nothing beside it.
bool is_device(const std::string& path);

// Calls body for 0, …, count - 1: several at once where each may cost a request to the store of
// `path`.
void for_each_file(std::size_t count, const std::string& path,
                   const std::function<void(std::size_t)>& body);

}  // namespace smelt
