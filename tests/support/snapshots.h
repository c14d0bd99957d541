// Small folders as tf.data.Dataset.save writes them, right or wrong on purpose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

// A serialized TensorProto: a scalar when there is no shape, else a list.
std::string tensor_message(int type, bool scalar, const std::vector<std::int64_t>& numbers);

struct TestSnapshot {
  std::vector<std::vector<std::vector<std::int64_t>>> shards;  // each one's elements
  bool scalars = true;
  int type = 9;                 // int64
  std::vector<int> types = {};  // that the metadata name; empty: `type`
  std::int64_t version = 2;
  std::optional<std::int64_t> elements = {};  // default: as many as there are
  bool finalized = true;
  std::string run = "17";
  std::size_t chunk = 1000;  // elements of a file
};
std::string snapshot_metadata(const TestSnapshot& snapshot);
void write_test_snapshot(const std::string& path, const TestSnapshot& snapshot);

// first, first + 1, … dealt out over shards in turn, one to an element.
TestSnapshot dealt_out(std::int64_t first, std::int64_t count, std::size_t shards);

}  // namespace smelt
