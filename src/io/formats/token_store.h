// A token store: the token ids of a text in one file with random access
// (docs/reference/formats/token_store.md). Works on bytes and does not access files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::io {

inline constexpr std::string_view kTokenStoreMagic = "SMELTTOK";
constexpr std::size_t kTokenStoreHeadBytes = 16, kTokenStoreFootBytes = 48;
constexpr std::size_t kTokenBlockBytes =
    4096;  // bytes of numbers in a block; a checksum of 4 bytes follows
constexpr std::size_t kTokenChecksumBytes = 4;

// The vocabulary that the ids belong to. It must be known before the first id is written.
struct TokenVocabulary {
  std::uint64_t size = 0;               // all ids are less than this; 0: unknown
  std::optional<std::uint32_t> crc32c;  // checksum of the vocabulary file
  std::size_t id_bytes() const { return size > 0 && size <= 1 << 16 ? 2 : 4; }
};

// The layout of a store: head, tokens in blocks, document ends in blocks, foot.
struct TokenStoreLayout {
  std::size_t id_bytes = 4;  // 2 or 4
  std::uint64_t tokens = 0, documents = 0;
  TokenVocabulary vocabulary;
  std::uint32_t id_limit = 0;  // the largest id plus 1; 0: unknown

  std::uint64_t file_size() const;
};

// The position of consecutive tokens in the file: the blocks that contain them, and the number of
// bytes to skip in the first block.
struct TokenBlocks {
  std::uint64_t offset = 0, bytes = 0;
  std::size_t skip = 0;
};
TokenBlocks blocks_of_tokens(const TokenStoreLayout& layout, std::uint64_t first,
                             std::uint64_t count);
TokenBlocks blocks_of_ends(const TokenStoreLayout& layout, std::uint64_t first,
                           std::uint64_t count);

// Parses the file's first kTokenStoreHeadBytes and last kTokenStoreFootBytes. `size` is the file
// size. Throws UsageError, beginning with `where`, if they are invalid.
TokenStoreLayout parse_token_store(std::string_view head, std::string_view foot, std::uint64_t size,
                                   std::string_view where);

// Decodes the numbers of a run from the bytes at blocks.offset. Throws UsageError with the offset
// of the first block that has a wrong checksum or an invalid number.
void decode_tokens(const TokenStoreLayout& layout, const TokenBlocks& blocks,
                   std::string_view bytes, std::string_view where, std::span<std::int32_t> out);
void decode_ends(const TokenBlocks& blocks, std::string_view bytes, std::string_view where,
                 std::span<std::uint64_t> out);

// Passes the bytes of a store to a sink, in order. Needs 8 bytes of memory per document, for the
// document ends.
class TokenStoreWriter {
 public:
  using Sink = std::function<void(std::string_view bytes)>;
  TokenStoreWriter(const TokenVocabulary& vocabulary, std::size_t id_bytes, Sink sink);

  // Adds ids, which must fit in `id_bytes`.
  void add(std::span<const std::int32_t> ids);
  // Ends a document. Has no effect if no tokens were added since the last end.
  void end_document();
  // Ends the store; nothing may be added afterwards. Tokens after the last document end belong to
  // no document.
  void finish();
  std::uint64_t tokens() const { return layout_.tokens; }
  std::uint64_t documents() const { return ends_.size(); }
  std::size_t id_bytes() const { return layout_.id_bytes; }

 private:
  template <class Id>
  void add_as(std::span<const std::int32_t> ids);
  void put(std::string_view numbers);
  void end_block();

  TokenStoreLayout layout_;
  Sink sink_;
  std::string block_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace smelt::io
