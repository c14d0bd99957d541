#include "io/formats/token_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"

namespace smelt::io {
namespace {

constexpr std::uint32_t kStoreVersion = 1;
constexpr std::uint32_t kVocabularyKnown = 1;  // a flag in the foot
constexpr std::size_t kEndBytes = sizeof(std::uint64_t);
constexpr std::size_t kStoredBlockBytes = kTokenBlockBytes + kTokenChecksumBytes;
constexpr std::string_view kStoreHint = "the file is damaged: make or copy it again";
constexpr std::uint64_t kMostNumbers = std::uint64_t{1}
                                       << 56;  // so that sizes in bytes fit in 64 bits

// Returns the stored size of numbers of `width` bytes, including checksums.
std::uint64_t stored_bytes(std::uint64_t numbers, std::size_t width) {
  const std::uint64_t bytes = numbers * width;
  return bytes + (bytes + kTokenBlockBytes - 1) / kTokenBlockBytes * kTokenChecksumBytes;
}

// Returns the blocks that contain the numbers [first, first + count) of a list. The list has `all`
// numbers of `width` bytes, and its blocks begin at the file offset `start`.
TokenBlocks blocks_of(std::uint64_t start, std::uint64_t all, std::size_t width,
                      std::uint64_t first, std::uint64_t count) {
  CHECK(first <= all && count <= all - first, first, " + ", count, " of ", all);
  if (count == 0) return {.offset = start, .bytes = 0, .skip = 0};
  const std::uint64_t from = first * width / kTokenBlockBytes,
                      to = ((first + count) * width + kTokenBlockBytes - 1) / kTokenBlockBytes;
  const std::uint64_t offset = from * kStoredBlockBytes,
                      end = std::min(to * kStoredBlockBytes, stored_bytes(all, width));
  return {.offset = start + offset,
          .bytes = end - offset,
          .skip = static_cast<std::size_t>(first * width % kTokenBlockBytes)};
}

std::uint64_t ends_offset(const TokenStoreLayout& layout) {
  return kTokenStoreHeadBytes + stored_bytes(layout.tokens, layout.id_bytes);
}

std::string head_of(std::size_t id_bytes) {
  std::string out(kTokenStoreMagic);
  append_little_endian(out, kStoreVersion);
  append_little_endian(out, static_cast<std::uint32_t>(id_bytes));
  return out;
}

// Returns the foot, whose checksum also covers the head.
std::string foot_of(const TokenStoreLayout& layout) {
  std::string out;
  append_little_endian(out, layout.tokens);
  append_little_endian(out, layout.documents);
  append_little_endian(out, layout.vocabulary.size);
  append_little_endian(out, layout.vocabulary.crc32c ? kVocabularyKnown : 0U);
  append_little_endian(out, layout.vocabulary.crc32c.value_or(0));
  append_little_endian(out, layout.id_limit);
  append_little_endian(out, crc32c(out, crc32c(head_of(layout.id_bytes))));
  return out + std::string(kTokenStoreMagic);
}

// Verifies the checksum of each block, then calls `use` with the numbers of the run in that block.
template <class Use>
void each_block(const TokenBlocks& blocks, std::string_view bytes, std::string_view where,
                const Use& use) {
  if (bytes.size() != blocks.bytes)
    throw UsageError(str(where, ": truncated: expected ", blocks.bytes, " bytes at offset ",
                         blocks.offset, ", found ", bytes.size()),
                     kStoreHint);
  std::size_t skip = blocks.skip;
  for (std::uint64_t at = 0; at < bytes.size(); at += kStoredBlockBytes) {
    const std::string_view block = bytes.substr(at, kStoredBlockBytes);
    const std::string_view numbers = block.substr(0, block.size() - kTokenChecksumBytes);
    if (crc32c(numbers) != from_little_endian<std::uint32_t>(block.substr(numbers.size())))
      throw UsageError(str(where, ": block at offset ", blocks.offset + at, ": wrong checksum"),
                       kStoreHint);
    use(numbers.substr(skip));
    skip = 0;
  }
}

template <class Stored, class Number>
void decode_as(const TokenBlocks& blocks, std::string_view bytes, std::string_view where,
               std::span<Number> out) {
  each_block(blocks, bytes, where, [&](std::string_view numbers) {
    const std::size_t count = std::min(out.size(), numbers.size() / sizeof(Stored));
    for (std::size_t i = 0; i < count; ++i)
      out[i] = static_cast<Number>(
          from_little_endian<Stored>({numbers.data() + i * sizeof(Stored), sizeof(Stored)}));
    out = out.subspan(count);
  });
}

}  // namespace

std::uint64_t TokenStoreLayout::file_size() const {
  return ends_offset(*this) + stored_bytes(documents, kEndBytes) + kTokenStoreFootBytes;
}

TokenBlocks blocks_of_tokens(const TokenStoreLayout& layout, std::uint64_t first,
                             std::uint64_t count) {
  return blocks_of(kTokenStoreHeadBytes, layout.tokens, layout.id_bytes, first, count);
}

TokenBlocks blocks_of_ends(const TokenStoreLayout& layout, std::uint64_t first,
                           std::uint64_t count) {
  return blocks_of(ends_offset(layout), layout.documents, kEndBytes, first, count);
}

TokenStoreLayout parse_token_store(std::string_view head, std::string_view foot, std::uint64_t size,
                                   std::string_view where) {
  const auto require = [&](bool condition, const std::string& what) {
    if (!condition) throw UsageError(str(where, ": ", what), kStoreHint);
  };
  require(head.starts_with(kTokenStoreMagic), "not a token store");
  require(head.size() == kTokenStoreHeadBytes && foot.size() == kTokenStoreFootBytes &&
              size >= kTokenStoreHeadBytes + kTokenStoreFootBytes,
          str("token store truncated to ", size, " bytes"));
  const auto version = from_little_endian<std::uint32_t>(head.substr(8));
  require(version == kStoreVersion,
          str("token store version ", version, ", expected ", kStoreVersion));
  require(foot.ends_with(kTokenStoreMagic), "truncated token store: it has no foot");
  const std::string_view checked = foot.substr(0, kTokenStoreFootBytes - 12);
  require(crc32c(checked, crc32c(head)) ==
              from_little_endian<std::uint32_t>(foot.substr(checked.size())),
          "wrong checksum of the token store's head and foot");
  TokenStoreLayout out;
  out.id_bytes = from_little_endian<std::uint32_t>(head.substr(12));
  out.tokens = from_little_endian<std::uint64_t>(foot);
  out.documents = from_little_endian<std::uint64_t>(foot.substr(8));
  out.vocabulary.size = from_little_endian<std::uint64_t>(foot.substr(16));
  if (from_little_endian<std::uint32_t>(foot.substr(24)) & kVocabularyKnown)
    out.vocabulary.crc32c = from_little_endian<std::uint32_t>(foot.substr(28));
  out.id_limit = from_little_endian<std::uint32_t>(foot.substr(32));
  require(out.id_bytes == 2 || out.id_bytes == 4, str("ids of ", out.id_bytes, " bytes"));
  require(out.tokens <= kMostNumbers && out.documents <= out.tokens && out.file_size() == size,
          str(out.tokens, " tokens and ", out.documents, " documents in ", size, " bytes"));
  return out;
}

void decode_tokens(const TokenStoreLayout& layout, const TokenBlocks& blocks,
                   std::string_view bytes, std::string_view where, std::span<std::int32_t> out) {
  if (layout.id_bytes == 2) return decode_as<std::uint16_t>(blocks, bytes, where, out);
  decode_as<std::uint32_t>(blocks, bytes, where, out);
  if (std::ranges::any_of(out, [](std::int32_t id) { return id < 0; }))
    throw UsageError(str(where, ": blocks at offset ", blocks.offset, ": an id of 2^31 or more"),
                     kStoreHint);
}

void decode_ends(const TokenBlocks& blocks, std::string_view bytes, std::string_view where,
                 std::span<std::uint64_t> out) {
  decode_as<std::uint64_t>(blocks, bytes, where, out);
}

TokenStoreWriter::TokenStoreWriter(const TokenVocabulary& vocabulary, std::size_t id_bytes,
                                   Sink sink)
    : layout_{.id_bytes = id_bytes, .tokens = 0, .documents = 0, .vocabulary = vocabulary},
      sink_(std::move(sink)) {
  CHECK(id_bytes == 2 || id_bytes == 4, id_bytes);
  sink_(head_of(id_bytes));
}

template <class Id>
void TokenStoreWriter::add_as(std::span<const std::int32_t> ids) {
  constexpr std::size_t kAtOnce = kTokenBlockBytes / sizeof(Id);
  std::array<char, kTokenBlockBytes> numbers;
  while (!ids.empty()) {
    const auto part = ids.first(std::min(kAtOnce, ids.size()));
    char* to = numbers.data();
    for (const std::int32_t id : part) {
      const auto bytes = to_little_endian(static_cast<Id>(id));
      to = std::copy(bytes.begin(), bytes.end(), to);
    }
    put({numbers.data(), part.size() * sizeof(Id)});
    ids = ids.subspan(part.size());
  }
}

void TokenStoreWriter::add(std::span<const std::int32_t> ids) {
  const std::int64_t limit = layout_.id_bytes == 2 ? 1 << 16 : std::int64_t{1} << 31;
  for (const std::int32_t id : ids) {
    CHECK(id >= 0 && id < limit, id);
    layout_.id_limit = std::max(layout_.id_limit, static_cast<std::uint32_t>(id) + 1);
  }
  layout_.id_bytes == 2 ? add_as<std::uint16_t>(ids) : add_as<std::uint32_t>(ids);
  layout_.tokens += ids.size();
}

void TokenStoreWriter::end_document() {
  if (layout_.tokens > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(layout_.tokens);
}

void TokenStoreWriter::put(std::string_view numbers) {
  while (!numbers.empty()) {
    const std::string_view part = numbers.substr(0, kTokenBlockBytes - block_.size());
    block_ += part;
    numbers.remove_prefix(part.size());
    if (block_.size() == kTokenBlockBytes) end_block();
  }
}

void TokenStoreWriter::end_block() {
  if (block_.empty()) return;
  append_little_endian(block_, crc32c(block_));
  sink_(block_);
  block_.clear();
}

void TokenStoreWriter::finish() {
  end_block();
  for (const std::uint64_t end : ends_) {
    const auto bytes = to_little_endian(end);
    put({bytes.data(), bytes.size()});
  }
  end_block();
  layout_.documents = ends_.size();
  sink_(foot_of(layout_));
}

}  // namespace smelt::io
