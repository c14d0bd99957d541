// Determines the kind of data at a path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::data {

// Expands a comma-separated list of files, snapshot folders and patterns, local or on an object
// store. Keeps the order of the list; the matches of a pattern are sorted. Throws UsageError
// if an entry matches nothing.
std::vector<std::string> data_paths(std::string_view patterns, std::string_view what);

// Returns whether the path is a folder written by tf.data.Dataset.save. Throws UsageError for any
// other folder.
bool is_snapshot(const std::string& path);
bool is_token_store(const std::string& path);
// Returns whether the path is a snapshot or a token store.
bool holds_tokens(const std::string& path);

}  // namespace smelt::data
