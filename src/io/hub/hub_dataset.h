// The training data of a dataset on the Hub, by the conventions of the `datasets` library (its
// documentation, "Structure your repository").
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace smelt::io {

// Returns the YAML front matter of a README (the lines between its two "---" lines, or "") and the
// text after it.
std::pair<std::string, std::string> front_matter(const std::string& readme);

// Returns the files of a split ("train", "validation" or "test") among `paths`, sorted. `readme` is
// the content of README.md, whose metadata field `configs` takes precedence: its default
// configuration, or the only one. Otherwise the split is found by names such as
// data/train-00000-of-00002.parquet, then by folders, then by file names; without any, all files
// are training data. Only files of the commonest format are returned. Returns an empty list if the
// dataset has no such split. Throws UsageError if the metadata is not valid YAML, and if it has
// several configurations but no default.
std::vector<std::string> dataset_split(const std::vector<std::string>& paths,
                                       const std::string& readme, const std::string& split);

}  // namespace smelt::io
