#include "examples/spill.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "format/crc32c.h"
#include "store/file.h"
#include "store/random_access_file.h"

namespace smelt {
namespace {

constexpr std::size_t kLeastChunk = 4 << 10, kMostChunk = 64 << 10;

}  // namespace

SpillWriter::SpillWriter(std::string path, std::size_t buckets, std::size_t memory)
    : path_(std::move(path)),
      chunk_bytes_(std::clamp(memory / buckets, kLeastChunk, kMostChunk)),
      file_(std::fopen(path_.c_str(), "wb"), &std::fclose),
      buffers_(buckets) {
  if (!file_) throw_errno("open", path_, errno);
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);
}

void SpillWriter::append(std::size_t bucket, std::string_view record) {
  std::string& buffer = buffers_[bucket];
  if (!buffer.empty() && buffer.size() + record.size() > chunk_bytes_) flush(bucket);
  buffer += record;
}

void SpillWriter::flush(std::size_t bucket) {
  std::string& buffer = buffers_[bucket];
  if (std::fwrite(buffer.data(), 1, buffer.size(), file_.get()) != buffer.size())
    throw_errno("write", path_, errno);
  chunks_.push_back({.offset = size_,
                     .size = static_cast<std::uint32_t>(buffer.size()),
                     .bucket = static_cast<std::uint32_t>(bucket),
                     .crc32c = crc32c(buffer),
                     .file = 0});
  size_ += buffer.size();
  buffer.clear();
}

std::vector<SpillChunk> SpillWriter::finish() {
  for (std::size_t bucket = 0; bucket < buffers_.size(); ++bucket)
    if (!buffers_[bucket].empty()) flush(bucket);
  buffers_.clear();
  if (std::fclose(file_.release()) != 0) throw_errno("close", path_, errno);
  return std::move(chunks_);
}

Spill::Spill(std::vector<std::string> files, const std::vector<std::vector<SpillChunk>>& chunks)
    : files_(std::move(files)) {
  for (std::size_t file = 0; file < chunks.size(); ++file)
    for (SpillChunk chunk : chunks[file]) {
      chunk.file = static_cast<std::uint32_t>(file);
      chunks_.push_back(chunk);
    }
  std::ranges::stable_sort(chunks_, {}, &SpillChunk::bucket);
}

void Spill::save(const std::string& index) const {
  const std::string_view chunks(reinterpret_cast<const char*>(chunks_.data()),
                                chunks_.size() * sizeof(SpillChunk));
  write_file(index, str(crc32c(chunks), "\n", join(files_, "\n"), "\n\n", chunks));
}

Spill Spill::load(const std::string& index) {
  const std::string bytes = read_file(index);
  const std::size_t head = bytes.find("\n\n");
  const auto chunks = std::string_view(bytes).substr(std::min(bytes.size(), head + 2));
  Spill spill;
  if (head != std::string::npos)
    for (const std::string_view line : split(std::string_view(bytes).substr(0, head), '\n'))
      spill.files_.emplace_back(line);
  if (spill.files_.empty() || chunks.size() % sizeof(SpillChunk) != 0 ||
      spill.files_.front() != str(crc32c(chunks)))
    throw UsageError(str(index, ": damaged"), "remove its folder and run again");
  spill.files_.erase(spill.files_.begin());
  spill.chunks_.resize(chunks.size() / sizeof(SpillChunk));
  std::memcpy(spill.chunks_.data(), chunks.data(), chunks.size());
  return spill;
}

std::vector<std::string> Spill::read(std::size_t first, std::size_t last) const {
  const auto begin = std::ranges::lower_bound(chunks_, first, {}, &SpillChunk::bucket);
  const auto end = std::ranges::lower_bound(chunks_, last, {}, &SpillChunk::bucket);
  std::vector<std::string> out;
  for (std::size_t number = 0; number < files_.size(); ++number) {
    const RandomAccessFile file(files_[number]);
    for (auto chunk = begin; chunk != end; ++chunk) {
      if (chunk->file != number) continue;
      std::string& bytes = out.emplace_back(chunk->size, '\0');
      if (file.read_at(chunk->offset, bytes) != bytes.size() || crc32c(bytes) != chunk->crc32c)
        throw UsageError(str(file.path(), ": damaged at byte ", chunk->offset),
                         "remove its folder and run again");
    }
  }
  return out;
}

}  // namespace smelt
