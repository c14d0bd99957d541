#include "io/formats/sstable.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "io/formats/wire.h"

namespace smelt::io {
namespace {

constexpr std::uint64_t kTableMagic = 0xDB4775248B80FB57;
constexpr std::size_t kFooterBytes = 48, kHandlesBytes = 40;
constexpr std::size_t kTrailerBytes = 5;  // compression type and checksum
constexpr int kRestartInterval = 16;
constexpr char kPlain = 0, kSnappy = 1;

struct BlockHandle {
  std::uint64_t offset = 0, size = 0;  // without the trailer
};

// ---- Reading

class TableReader {
 public:
  TableReader(std::string_view bytes, std::string_view origin) : bytes_(bytes), origin_(origin) {}
  std::vector<TableEntry> read();

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw UsageError(str(origin_, ": ", problem), "download or write the file again");
  }
  BlockHandle handle(WireReader& reader) const {
    const std::uint64_t offset = reader.raw_varint();
    return {offset, reader.raw_varint()};
  }
  std::string_view block(BlockHandle handle) const;
  // Appends a block's entries. A key may share a prefix with the previous key.
  void entries(std::string_view block, std::vector<TableEntry>& out);

  std::string_view bytes_, origin_;
  std::uint64_t key_bytes_ = 0;
};

std::string_view TableReader::block(BlockHandle at) const {
  const std::uint64_t before_footer = bytes_.size() - kFooterBytes;
  if (at.size > before_footer || at.offset > before_footer - at.size ||
      before_footer - at.size - at.offset < kTrailerBytes)
    fail(str("a block of ", at.size, " bytes at ", at.offset, " is not within the file"));
  const std::string_view block = bytes_.substr(at.offset, at.size);
  const std::string_view trailer = bytes_.substr(at.offset + at.size, kTrailerBytes);
  const std::uint32_t said = unmask_crc(from_little_endian<std::uint32_t>(trailer.substr(1)));
  const std::uint32_t found = crc32c(trailer.substr(0, 1), crc32c(block));
  if (said != found)
    fail(str("the block at ", at.offset, " is damaged: its crc32c is ", found, ", not ", said));
  if (trailer.front() == kSnappy)
    fail("its blocks are compressed with Snappy, which is not supported");
  if (trailer.front() != kPlain)
    fail(str("unknown compression ", static_cast<int>(trailer.front()), " of the block at ",
             at.offset));
  return block;
}

void TableReader::entries(std::string_view block, std::vector<TableEntry>& out) {
  // Maximum ratio of the keys' total size, with shared prefixes repeated, to the file's size.
  constexpr std::uint64_t kMostGrowth = 32;
  if (block.size() < 4) fail("a block is too short for its restart count");
  const std::uint64_t restarts = from_little_endian<std::uint32_t>(block.substr(block.size() - 4));
  if (restarts > (block.size() - 4) / 4) fail(str("a block of ", restarts, " restarts"));
  WireReader reader(block.substr(0, block.size() - 4 - 4 * restarts), origin_);
  std::string key;
  while (!reader.done()) {
    const std::uint64_t shared = reader.raw_varint(), rest = reader.raw_varint();
    const std::uint64_t value = reader.raw_varint();
    if (shared > key.size())
      fail(str("a key shares ", shared, " bytes with the previous key, which has ", key.size()));
    key.resize(shared);
    key += reader.raw_bytes(rest);
    key_bytes_ += key.size();
    if (key_bytes_ > kMostGrowth * bytes_.size())
      fail("its keys share more bytes than names of tensors do");
    if (!out.empty() && out.back().key >= key) fail("its keys do not ascend");
    out.push_back({key, reader.raw_bytes(value)});
  }
}

std::vector<TableEntry> TableReader::read() {
  if (bytes_.size() < kFooterBytes ||
      from_little_endian<std::uint64_t>(bytes_.substr(bytes_.size() - 8)) != kTableMagic)
    fail(
        "not a TensorFlow checkpoint index, or truncated: its last 8 bytes are not those of the "
        "format");
  const std::string_view handles = bytes_.substr(bytes_.size() - kFooterBytes, kHandlesBytes);
  WireReader footer(handles, origin_);
  const BlockHandle meta = handle(footer), index = handle(footer);
  while (!footer.done())
    if (footer.raw_bytes(1) != std::string_view("\0", 1)) fail("its footer is damaged");
  std::vector<TableEntry> blocks, meta_blocks, out;
  entries(block(meta), meta_blocks);  // other writers store filters there
  entries(block(index), blocks);
  key_bytes_ = 0;
  for (const TableEntry& line : blocks) {
    WireReader reader(line.value, origin_);
    entries(block(handle(reader)), out);
    if (!out.empty() && out.back().key > line.key) fail("its index of blocks is wrong");
  }
  return out;
}

// ---- Writing

class BlockWriter {
 public:
  explicit BlockWriter(int interval) : interval_(interval) {}

  void add(std::string_view key, std::string_view value) {
    std::size_t shared = 0;
    if (since_restart_ == interval_) {
      restarts_.push_back(static_cast<std::uint32_t>(body_.text().size()));
      since_restart_ = 0;
    } else {
      const std::size_t most = std::min(last_.size(), key.size());
      while (shared < most && last_[shared] == key[shared]) ++shared;
    }
    body_.raw_varint(shared);
    body_.raw_varint(key.size() - shared);
    body_.raw_varint(value.size());
    body_.raw_bytes(key.substr(shared));
    body_.raw_bytes(value);
    last_ = key;
    ++since_restart_;
  }

  std::size_t size_bytes() const { return body_.text().size() + 4 * restarts_.size() + 4; }

  std::string take() {
    for (const std::uint32_t restart : restarts_) body_.raw_fixed32(restart);
    body_.raw_fixed32(static_cast<std::uint32_t>(restarts_.size()));
    restarts_ = {0};
    since_restart_ = 0;
    last_.clear();
    return body_.take();
  }

 private:
  int interval_, since_restart_ = 0;
  WireWriter body_;
  std::vector<std::uint32_t> restarts_ = {0};
  std::string last_;
};

// Returns a short text t with from <= t < to.
std::string between(std::string from, std::string_view to) {
  const auto differ = std::ranges::mismatch(from, to).in1 - from.begin();
  const auto at = static_cast<std::size_t>(differ);
  if (at == from.size() || at == to.size()) return from;
  const auto byte = static_cast<unsigned char>(from[at]);
  if (byte == 0xFF || byte + 1 >= static_cast<unsigned char>(to[at])) return from;
  from.resize(at + 1);
  from[at] = static_cast<char>(byte + 1);
  return from;
}

// Returns a short text t with from <= t.
std::string after(std::string from) {
  const auto less = std::ranges::find_if(from, [](char c) { return c != '\xFF'; });
  if (less == from.end()) return from;
  *less = static_cast<char>(static_cast<unsigned char>(*less) + 1);
  from.erase(less + 1, from.end());
  return from;
}

std::string handle_text(BlockHandle handle) {
  WireWriter writer;
  writer.raw_varint(handle.offset);
  writer.raw_varint(handle.size);
  return writer.take();
}

BlockHandle append_block(std::string& file, const std::string& block) {
  const BlockHandle handle{file.size(), block.size()};
  file += block;
  file += kPlain;
  append_little_endian(file, mask_crc(crc32c(std::string_view(file).substr(handle.offset))));
  return handle;
}

}  // namespace

std::vector<TableEntry> read_sstable(std::string_view bytes, std::string_view origin) {
  return TableReader(bytes, origin).read();
}

std::string sstable_bytes(const std::vector<std::pair<std::string, std::string>>& items,
                          std::size_t block_bytes) {
  std::string file;
  BlockWriter data(kRestartInterval), index(1);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& [key, value] = items[i];
    CHECK(i == 0 || items[i - 1].first < key, key);
    data.add(key, value);
    const bool last = i + 1 == items.size();
    if (data.size_bytes() < block_bytes && !last) continue;
    const BlockHandle handle = append_block(file, data.take());
    index.add(last ? after(key) : between(key, items[i + 1].first), handle_text(handle));
  }
  const BlockHandle meta_block = append_block(file, BlockWriter(kRestartInterval).take());
  const BlockHandle index_block = append_block(file, index.take());
  std::string footer = handle_text(meta_block) + handle_text(index_block);
  footer.resize(kHandlesBytes);
  append_little_endian(footer, kTableMagic);
  return file + footer;
}

}  // namespace smelt::io
