#include "support/snapshots.h"

#include <cstdio>

#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/tfrecord.h"
#include "io/formats/wire.h"

namespace smelt {
namespace {

std::size_t width_of(int type) {
  switch (type) {
    case 4:
    case 6:
      return 1;
    case 5:
    case 17:
      return 2;
    case 3:
    case 22:
      return 4;
    default:
      return 8;
  }
}

std::string numbered(std::size_t number, const char* ending) {
  char name[32];
  std::snprintf(name, sizeof name, "%08zu%s", number, ending);
  return name;
}

}  // namespace

std::string tensor_message(int type, bool scalar, const std::vector<std::int64_t>& numbers) {
  io::WireWriter size, dim, out;
  if (!scalar) {
    if (!numbers.empty()) size.integer(1, std::ssize(numbers));
    dim.message(2, size);
  }
  std::string content;
  for (const std::int64_t number : numbers)
    for (std::size_t byte = 0; byte < width_of(type); ++byte)
      content.push_back(static_cast<char>(number >> (8 * byte)));
  out.integer(1, type);
  out.message(2, dim);
  if (!content.empty()) out.bytes(4, content);
  return out.take();
}

std::string snapshot_metadata(const TestSnapshot& snapshot) {
  io::WireWriter types, out;
  std::int64_t elements = 0;
  for (const auto& shard : snapshot.shards) elements += std::ssize(shard);
  for (const int type : snapshot.types.empty() ? std::vector{snapshot.type} : snapshot.types)
    types.raw_varint(static_cast<std::uint64_t>(type));
  out.bytes(2, snapshot.run);
  out.integer(3, 1700000000000000);
  if (snapshot.version != 0) out.integer(4, snapshot.version);
  out.message(5, types);
  out.integer(6, snapshot.elements.value_or(elements));
  if (snapshot.finalized) out.varint(1000, 1);
  return out.take();
}

void write_test_snapshot(const std::string& path, const TestSnapshot& snapshot) {
  io::write_file(io::join_path(path, "snapshot.metadata"), snapshot_metadata(snapshot));
  for (std::size_t shard = 0; shard < snapshot.shards.size(); ++shard) {
    const std::string folder =
        io::join_path(path, str(snapshot.run, "/", numbered(shard, ".shard")));
    const auto& elements = snapshot.shards[shard];
    for (std::size_t first = 0; first < elements.size(); first += snapshot.chunk) {
      std::string bytes;
      for (std::size_t i = first; i < std::min(elements.size(), first + snapshot.chunk); ++i)
        io::append_record(bytes, tensor_message(snapshot.type, snapshot.scalars, elements[i]));
      io::write_file(io::join_path(folder, numbered(first / snapshot.chunk, ".snapshot")), bytes);
    }
  }
}

TestSnapshot dealt_out(std::int64_t first, std::int64_t count, std::size_t shards) {
  TestSnapshot out;
  out.shards.resize(shards);
  for (std::int64_t i = 0; i < count; ++i)
    out.shards[static_cast<std::size_t>(i) % shards].push_back({first + i});
  return out;
}

}  // namespace smelt
