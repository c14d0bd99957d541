// What kind of data a path leads to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// A comma list of files, snapshot folders and patterns of either, on disk or an object store ->
// what they name, each pattern's matches sorted, in list order. UsageError naming what matches
// nothing.
std::vector<std::string> data_paths(std::string_view patterns, std::string_view what);

// A folder as tf.data.Dataset.save writes it. UsageError for any other folder.
bool is_snapshot(const std::string& path);
bool is_token_store(const std::string& path);
// Either.
bool holds_tokens(const std::string& path);

}  // namespace smelt
