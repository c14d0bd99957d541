#include "data/input_pipeline/token_file.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/snapshot_tokens.h"

namespace smelt::data {
namespace {

std::string read_blocks(const io::RandomAccessFile& file, const io::TokenBlocks& blocks) {
  std::string bytes(blocks.bytes, '\0');
  bytes.resize(file.read_at(blocks.offset, bytes));
  return bytes;
}

class StoredTokens : public TokenFile {
 public:
  explicit StoredTokens(const std::string& path)
      : layout_(read_token_store(io::RandomAccessFile(path))) {
    size_ = layout_.tokens;
    documents_ = layout_.documents;
    vocabulary_ = layout_.vocabulary;
    id_limit_ = layout_.id_limit;
    parts_ = {path};
  }

  void read(const Open& open, std::uint64_t first, std::span<std::int32_t> out) const override {
    const auto file = open(0);
    const io::TokenBlocks blocks = io::blocks_of_tokens(layout_, first, out.size());
    io::decode_tokens(layout_, blocks, read_blocks(*file, blocks), file->path(), out);
  }
  std::vector<std::uint64_t> document_ends(const Open& open) const override {
    std::vector<std::uint64_t> ends(layout_.documents);
    if (!ends.empty()) read_document_ends(*open(0), layout_, 0, ends);
    return ends;
  }

 private:
  io::TokenStoreLayout layout_;
};

}  // namespace

io::TokenStoreLayout read_token_store(const io::RandomAccessFile& file) {
  std::array<char, io::kTokenStoreHeadBytes> head;
  std::array<char, io::kTokenStoreFootBytes> foot;
  const std::size_t head_bytes = file.read_at(0, head);
  const std::uint64_t foot_offset = std::max<std::uint64_t>(file.size(), foot.size()) - foot.size();
  const std::size_t foot_bytes = file.read_at(foot_offset, foot);
  return io::parse_token_store({head.data(), head_bytes}, {foot.data(), foot_bytes}, file.size(),
                               file.path());
}

void read_document_ends(const io::RandomAccessFile& file, const io::TokenStoreLayout& layout,
                        std::uint64_t first, std::span<std::uint64_t> out) {
  const io::TokenBlocks blocks = io::blocks_of_ends(layout, first, out.size());
  io::decode_ends(blocks, read_blocks(file, blocks), file.path(), out);
}

std::unique_ptr<TokenFile> open_token_file(const std::string& path, TokenMemory& memory) {
  if (is_snapshot(path)) return open_snapshot_tokens(path, memory);
  if (!is_token_store(path))
    throw UsageError(
        str(path, ": not a token store or a snapshot folder, unlike the files before it"),
        "give files of one kind");
  return std::make_unique<StoredTokens>(path);
}

}  // namespace smelt::data
