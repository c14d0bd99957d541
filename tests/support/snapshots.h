// Small folders in the format of tf.data.Dataset.save, valid or deliberately invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

// A serialized TensorProto: a scalar if `shape` is empty, else a list.
std::string tensor_message(int type, bool scalar, const std::vector<std::int64_t>& numbers);

struct TestSnapshot {
  std::vector<std::vector<std::vector<std::int64_t>>> shards;  // elements of each shard
  bool scalars = true;
  int type = 9;                 // int64
  std::vector<int> types = {};  // types in the metadata; empty: `type`
  std::int64_t version = 2;
  std::optional<std::int64_t> elements = {};  // element count in the metadata; default: correct
  bool finalized = true;
  std::string run = "17";
  std::size_t chunk = 1000;  // elements per file
};
std::string snapshot_metadata(const TestSnapshot& snapshot);
void write_test_snapshot(const std::string& path, const TestSnapshot& snapshot);

// Returns the numbers first, first + 1, … distributed round-robin over shards, one per element.
TestSnapshot dealt_out(std::int64_t first, std::int64_t count, std::size_t shards);

}  // namespace smelt
