// The files that examples are written to, and what stands beside them: an index for each
// (docs/formats/record_index.md), a description beside the first (docs/formats/description.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smelt {

struct ExampleFiles {
  std::vector<std::string> outputs;
  bool companions = true;  // whether indexes and the description are written
  bool overwrite = false;

  std::string description() const;
  // All that is written: outputs, indexes, the description.
  std::vector<std::string> all() const;
};

// The files of a comma list; with `shards` above 1 "dir/train.tfrecord" becomes
// "dir/train-00000-of-00016.tfrecord" and so on. UsageError for none, too many, patterns, and
// shards of a list.
std::vector<std::string> output_names(const std::string& list, std::int64_t shards);

// UsageError when a file that is written is also read or written twice, by whatever name.
void check_apart(const ExampleFiles& files, const std::vector<std::string>& inputs);

// UsageError when something stands in a file's place: anything without `overwrite`; with it, what
// stands in a companion's place and is none. `made` are outputs of this job, by number: they and
// their indexes may stay.
void check_free(const ExampleFiles& files, const std::vector<bool>& made = {});

// Those outputs that are not yet made, the companions first.
void remove_old(const ExampleFiles& files, const std::vector<bool>& made = {});

// Calls body for 0, …, count - 1: several at once where each may cost a request to the store of
// `path`.
void for_each_file(std::size_t count, const std::string& path,
                   const std::function<void(std::size_t)>& body);

}  // namespace smelt
