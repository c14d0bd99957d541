#include "io/formats/sstable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/str.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "support/error_of.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;
using Items = std::vector<std::pair<std::string, std::string>>;

Items numbered(int count) {
  Items items;
  for (int i = 0; i < count; ++i) {
    const std::string digits = std::to_string(100'000 + i);
    items.emplace_back(str("bert/encoder/layer_", digits, i % 3 == 0 ? "/kernel" : ""),
                       std::string(static_cast<std::size_t>(i % 7), 'v'));
  }
  return items;
}

Items read(const std::string& bytes) {
  Items out;
  for (const TableEntry& entry : read_sstable(bytes, "t"))
    out.emplace_back(entry.key, std::string(entry.value));
  return out;
}

std::string refusal_of_table(const std::string& bytes) {
  return error_of<UsageError>([&] { read_sstable(bytes, "a.index"); });
}

// Returns a table of one handwritten block, with valid checksums.
std::string table_of(const std::string& block, char packing) {
  std::string file = block;
  const auto end_block = [&](std::size_t begin, char type) {
    file += type;
    append_little_endian(file, mask_crc(crc32c(std::string_view(file).substr(begin))));
  };
  end_block(0, packing);
  const std::size_t index = file.size();
  file += std::string("\0\1\2z\0", 5);  // the key z: the block at 0
  file += static_cast<char>(block.size());
  file += std::string("\0\0\0\0\1\0\0\0", 8);
  end_block(index, '\0');
  const std::size_t index_size = file.size() - index - 5;
  std::string footer{static_cast<char>(index), static_cast<char>(index_size),
                     static_cast<char>(index), static_cast<char>(index_size)};
  footer.resize(40);
  append_little_endian(footer, std::uint64_t{0xDB4775248B80FB57});
  return file + footer;
}

TEST(Sstable, RoundTripsWithAnyBlockSize) {
  for (const int count : {0, 1, 15, 16, 17, 300})
    for (const std::size_t block : {std::size_t{1}, std::size_t{100}, kTableBlockBytes})
      EXPECT_EQ(read(sstable_bytes(numbered(count), block)), numbered(count)) << count;
}

TEST(Sstable, AcceptsKeysOfAnyBytes) {
  const Items items{{"", "header"}, {std::string("\0a", 2), ""}, {"\xFF", "x"}, {"\xFF\xFF", "y"}};
  EXPECT_EQ(read(sstable_bytes(items, 1)), items);
}

TEST(Sstable, RejectsEveryChangedByteAndTruncation) {
  const std::string good = sstable_bytes(numbered(20), 100);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_NE(refusal_of_table(bad), "no error") << i;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(refusal_of_table(good.substr(0, size)), "no error") << size;
}

TEST(Sstable, ReportsWhatIsWrongInATable) {
  EXPECT_THAT(refusal_of_table("short"), HasSubstr("a.index: not a TensorFlow checkpoint index"));
  const std::string block = std::string("\0\1\1av", 5) + std::string("\0\0\0\0\1\0\0\0", 8);
  EXPECT_EQ(refusal_of_table(table_of(block, '\0')), "no error");
  EXPECT_THAT(refusal_of_table(table_of(block, '\1')), HasSubstr("compressed with Snappy"));
  EXPECT_THAT(refusal_of_table(table_of(block, '\7')), HasSubstr("unknown compression 7"));
  const std::string twice =
      std::string("\0\1\1av\0\1\1av", 10) + std::string("\0\0\0\0\1\0\0\0", 8);
  EXPECT_THAT(refusal_of_table(table_of(twice, '\0')), HasSubstr("do not ascend"));
  const std::string shared = std::string("\5\1\1av", 5) + std::string("\0\0\0\0\1\0\0\0", 8);
  EXPECT_THAT(refusal_of_table(table_of(shared, '\0')),
              HasSubstr("shares 5 bytes with the previous key, which has 0"));
  EXPECT_THAT(refusal_of_table(table_of(std::string("\0\1\1av\xFF\xFF\0\0", 9), '\0')),
              HasSubstr("65535 restarts"));
  std::string damaged = table_of(block, '\0');
  damaged[3] ^= 1;
  EXPECT_THAT(refusal_of_table(damaged), HasSubstr("the block at 0 is damaged: its crc32c is"));
  std::string footer = table_of(block, '\0');
  footer[footer.size() - 12] = 1;
  EXPECT_THAT(refusal_of_table(footer), HasSubstr("its footer is damaged"));
}

// A small block can expand to long keys, since each key may share a prefix with the one before.
TEST(Sstable, LimitsTheSizeOfPrefixCompressedKeys) {
  Items items;
  for (int i = 0; i < 300; ++i)
    items.emplace_back(std::string(1000, 'k') + std::to_string(1000 + i), "");
  const std::string one_restart = sstable_bytes(items);
  EXPECT_EQ(read(one_restart), items);  // every 16th key is stored whole
  std::string block("\0\xE8\7\0", 4);
  block += std::string(1000, 'k');
  for (int i = 1; i < 200; ++i) {
    const int length = 999 + i;
    block += static_cast<char>((length & 0x7F) | 0x80);
    block += static_cast<char>(length >> 7);
    block += std::string("\1\0k", 3);
  }
  block += std::string("\0\0\0\0\1\0\0\0", 8);
  std::string file = block + '\0';
  append_little_endian(file, mask_crc(crc32c(file)));
  std::string footer(1, '\0');
  footer += static_cast<char>((block.size() & 0x7F) | 0x80);
  footer += static_cast<char>(block.size() >> 7);
  footer += footer;
  footer.resize(40);
  append_little_endian(footer, std::uint64_t{0xDB4775248B80FB57});
  EXPECT_THAT(refusal_of_table(file + footer), HasSubstr("share more bytes than names"));
}

}  // namespace
}  // namespace smelt::io
