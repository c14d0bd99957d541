#include "io/formats/token_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "support/error_of.h"
#include "support/hex.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

// Returns a store of these documents.
std::string store_of(const std::vector<std::vector<std::int32_t>>& documents,
                     const TokenVocabulary& vocabulary = {}) {
  std::string bytes;
  TokenStoreWriter writer(vocabulary, vocabulary.id_bytes(),
                          [&](std::string_view more) { bytes += more; });
  for (const auto& document : documents) {
    writer.add(document);
    writer.end_document();
  }
  writer.finish();
  return bytes;
}

TokenStoreLayout layout_of(std::string_view store) {
  const std::size_t foot = std::min(kTokenStoreFootBytes, store.size());
  return parse_token_store(store.substr(0, kTokenStoreHeadBytes), store.substr(store.size() - foot),
                           store.size(), "s");
}

std::vector<std::int32_t> tokens_of(std::string_view store, std::uint64_t first,
                                    std::uint64_t count) {
  const TokenStoreLayout layout = layout_of(store);
  const TokenBlocks blocks = blocks_of_tokens(layout, first, count);
  std::vector<std::int32_t> out(count);
  decode_tokens(layout, blocks, store.substr(blocks.offset, blocks.bytes), "s", out);
  return out;
}

std::vector<std::uint64_t> ends_of(std::string_view store, std::uint64_t first,
                                   std::uint64_t count) {
  const TokenBlocks blocks = blocks_of_ends(layout_of(store), first, count);
  std::vector<std::uint64_t> out(count);
  decode_ends(blocks, store.substr(blocks.offset, blocks.bytes), "s", out);
  return out;
}

std::string bytes_of(std::uint32_t value) {
  const auto bytes = to_little_endian(value);
  return {bytes.data(), bytes.size()};
}

TEST(TokenStore, HasTheDocumentedFormat) {
  const std::string tokens = from_hex("0500ffff0700"), ends = from_hex(
                                                           "0200000000000000"
                                                           "0300000000000000");
  const std::string head = from_hex(
      "534d454c54544f4b"
      "01000000"
      "02000000");
  const std::string foot = from_hex(
      "0300000000000000"
      "0200000000000000"
      "0000010000000000"
      "01000000"
      "efbeadde"
      "00000100");
  EXPECT_EQ(store_of({{5, 65535}, {7}}, {.size = 65536, .crc32c = 0xDEADBEEF}),
            head + tokens + bytes_of(crc32c(tokens)) + ends + bytes_of(crc32c(ends)) + foot +
                bytes_of(crc32c(head + foot)) + "SMELTTOK");
}

TEST(TokenStore, ReadsAnyRangeOfTokensAndDocumentEnds) {
  std::vector<std::int32_t> ids(10000);
  std::iota(ids.begin(), ids.end(), 1);
  for (const std::uint64_t size : {0, 65536, 65537}) {
    std::vector<std::vector<std::int32_t>> documents;
    std::vector<std::uint64_t> ends;
    for (std::size_t first = 0; first < ids.size(); first += 7) {
      const std::size_t last = std::min(first + 7, ids.size());
      documents.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(first),
                             ids.begin() + static_cast<std::ptrdiff_t>(last));
      documents.emplace_back();  // an empty document
      ends.push_back(last);
    }
    const std::string store = store_of(documents, {.size = size, .crc32c = {}});
    const TokenStoreLayout layout = layout_of(store);
    EXPECT_EQ(layout.tokens, ids.size());
    EXPECT_EQ(layout.documents, ends.size());
    EXPECT_EQ(layout.id_bytes, size == 65536 ? 2u : 4u);
    EXPECT_EQ(layout.vocabulary.size, size);
    EXPECT_EQ(layout.vocabulary.crc32c, std::nullopt);
    for (std::uint64_t first : {0, 1, 1023, 1024, 2047, 2048, 5000, 9999, 10000})
      for (std::uint64_t count : {0, 1, 2, 1024, 2049, 5000}) {
        if (first + count > ids.size()) continue;
        const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
        ASSERT_EQ(tokens_of(store, first, count),
                  std::vector(begin, begin + static_cast<std::ptrdiff_t>(count)))
            << first << " " << count;
      }
    EXPECT_EQ(ends_of(store, 0, ends.size()), ends);
    EXPECT_EQ(ends_of(store, 600, 3), std::vector(ends.begin() + 600, ends.begin() + 603));
  }
}

TEST(TokenStore, AcceptsAnEmptyStore) {
  const TokenStoreLayout layout = layout_of(store_of({}));
  EXPECT_EQ(layout.tokens, 0u);
  EXPECT_EQ(layout.documents, 0u);
}

TEST(TokenStore, RejectsEveryChangedByteAndTruncation) {
  const std::string whole = store_of({{1, 2, 3}, {4, 5}}, {.size = 100, .crc32c = 7});
  const auto error = [](std::string_view store) {
    return error_of<UsageError>([&] {
      (void)tokens_of(store, 0, 5);
      (void)ends_of(store, 0, 2);
    });
  };
  EXPECT_EQ(error(whole), "no error");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x10);
    EXPECT_THAT(error(broken), HasSubstr("s: ")) << at;
    EXPECT_THAT(error(whole.substr(0, at)), HasSubstr("s: ")) << at;
  }
}

TEST(TokenStore, ReportsWhatIsWrongInAStore) {
  const std::string whole = store_of({{1, 2, 3}});
  const auto error = [](std::string_view store) {
    return error_of<UsageError>([&] { (void)tokens_of(store, 0, 3); });
  };
  EXPECT_THAT(error("text that is as long as a head and a foot of a token store, at least so"),
              HasSubstr("s: not a token store"));
  EXPECT_THAT(error(whole.substr(0, 30)), HasSubstr("s: token store truncated to 30 bytes"));
  EXPECT_THAT(error(whole.substr(0, whole.size() - 1)),
              HasSubstr("s: truncated token store: it has no foot"));
  std::string broken = whole;
  broken[8] = 2;
  EXPECT_THAT(error(broken), HasSubstr("s: token store version 2, expected 1"));
  broken = whole;
  broken[16] = 9;
  EXPECT_EQ(error(broken),
            "s: block at offset 16: wrong checksum\n  hint: the file is damaged: make or copy it "
            "again");
  broken = whole;
  broken[broken.size() - 20] = 1;
  EXPECT_THAT(error(broken), HasSubstr("s: wrong checksum of the token store's head and foot"));
  EXPECT_THAT(error(whole.substr(0, 16) + whole.substr(20)), HasSubstr("s: 3 tokens and 1 "));
  const TokenStoreLayout layout = layout_of(whole);
  const TokenBlocks blocks = blocks_of_tokens(layout, 0, 3);
  std::vector<std::int32_t> out(3);
  EXPECT_THAT(
      error_of<UsageError>([&] { decode_tokens(layout, blocks, whole.substr(16, 5), "s", out); }),
      HasSubstr("s: truncated: expected 16 bytes at offset 16, found 5"));
}

}  // namespace
}  // namespace smelt::io
