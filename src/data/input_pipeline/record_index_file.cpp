#include "data/input_pipeline/record_index_file.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/tfrecord.h"

namespace smelt::data {
namespace {

constexpr std::size_t kWindowBytes = 4 << 20;
using Ends = decltype(io::RecordLayout::ends);

// Reads `file` in order through a window, so that adjacent headers need only one read.
class Window {
 public:
  explicit Window(const io::RandomAccessFile& file) : file_(file) {}

  // Returns at most `size` bytes from `offset`; fewer only at the end of the file.
  std::string_view at(std::uint64_t offset, std::size_t size) {
    if (offset < start_ || offset + size > start_ + bytes_.size()) {
      start_ = offset;
      bytes_.resize(std::min<std::uint64_t>(kWindowBytes, file_.size() - offset));
      bytes_.resize(file_.read_at(offset, bytes_));
    }
    return std::string_view(bytes_).substr(offset - start_, size);
  }

 private:
  const io::RandomAccessFile& file_;
  std::uint64_t start_ = 0;
  std::string bytes_;
};

void set_first(Ends& ends, std::string_view record) {
  std::copy_n(record.begin(), io::kRecordHeaderBytes, ends.begin());
}

void set_last(Ends& ends, std::string_view record) {
  std::copy_n(record.end() - io::kRecordFooterBytes, io::kRecordFooterBytes,
              ends.begin() + io::kRecordHeaderBytes);
}

Ends read_ends(const io::RandomAccessFile& file) {
  Ends ends{};
  const std::span<char> bytes(ends);
  if (file.size() < ends.size()) return ends;
  file.read_at(0, bytes.first(io::kRecordHeaderBytes));
  file.read_at(file.size() - io::kRecordFooterBytes, bytes.last(io::kRecordFooterBytes));
  return ends;
}

// Returns whether the record sizes add up to `bytes`. False if they overflow.
bool fill(const io::NarrowNumbers& sizes, std::uint64_t bytes) {
  if (sizes.width() < sizeof bytes) return sizes.sum(0, sizes.size()) == bytes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > bytes) return false;
    bytes -= sizes[i];
  }
  return bytes == 0;
}

}  // namespace

std::string record_index_path(const std::string& records) {
  return io::append_to_path(records, ".index");
}

void RecordIndexBuilder::add(std::string_view record, std::optional<std::uint64_t> tokens) {
  CHECK(record.size() >= io::kRecordHeaderBytes + io::kRecordFooterBytes, record.size());
  if (layout_.sizes.size() == 0) set_first(layout_.ends, record);
  set_last(layout_.ends, record);
  layout_.sizes.push_back(record.size());
  if (tokens) layout_.tokens.push_back(*tokens);
}

void RecordIndexBuilder::append(const RecordIndexBuilder& later) {
  const io::RecordLayout& next = later.layout_;
  if (next.sizes.size() == 0) return;
  const auto footer =
      std::ranges::subrange(next.ends.end() - io::kRecordFooterBytes, next.ends.end());
  if (layout_.sizes.size() == 0)
    layout_.ends = next.ends;
  else
    std::ranges::copy(footer, layout_.ends.end() - io::kRecordFooterBytes);
  layout_.sizes.append(next.sizes);
  layout_.tokens.append(next.tokens);
}

void RecordIndexBuilder::write(const std::string& records) const {
  io::write_file(record_index_path(records), io::encode_record_layout(layout_));
}

io::RecordLayout scan_records(const io::RandomAccessFile& file) {
  io::RecordLayout layout{.sizes = {}, .tokens = {}, .ends = read_ends(file)};
  Window window(file);
  for (std::uint64_t offset = 0; offset < file.size();) {
    const auto length = io::parse_record_header(window.at(offset, io::kRecordHeaderBytes),
                                                file.size() - offset, {file.path(), offset});
    layout.sizes.push_back(io::kRecordHeaderBytes + length + io::kRecordFooterBytes);
    offset += io::kRecordHeaderBytes + length + io::kRecordFooterBytes;
  }
  return layout;
}

std::optional<io::RecordLayout> load_record_index(const io::RandomAccessFile& file) {
  const std::string path = record_index_path(file.path());
  if (!io::exists(path)) return std::nullopt;
  try {
    io::RecordLayout layout = io::decode_record_layout(io::read_file(path), path);
    if (fill(layout.sizes, file.size()) && layout.ends == read_ends(file)) return layout;
    log_warning("{} is the index of another file; it is not used", path);
  } catch (const UsageError& error) {
    log_warning("{}", error.what());
  }
  return std::nullopt;
}

}  // namespace smelt::data
