#include "data/input_pipeline/record_index.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "data/input_pipeline/description.h"
#include "data/input_pipeline/record_index_file.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/tfrecord.h"

namespace smelt::data {
namespace {

constexpr std::size_t kOpenFiles = 256;
constexpr std::size_t kRunBytes = 1 << 20;  // bytes to read at once
constexpr std::uint64_t kMarkEvery = 64;

}  // namespace

std::vector<std::string> record_files(std::string_view patterns, std::string_view what) {
  std::vector<std::string> files = io::expand_patterns(patterns, what);
  std::unordered_set<std::string> beside;
  for (const std::string& file : files)
    for (const std::string_view suffix : {".json", ".index"})
      beside.insert(io::append_to_path(file, suffix));
  for (const std::string& file : files) {
    if (!file.ends_with(kWorkSuffix)) continue;
    if (const auto status = io::file_status(file); status && status->is_folder)
      throw UsageError(str(what, ": these files are incomplete: ", file, " exists"),
                       "run the command that writes them again; it resumes");
  }
  std::erase_if(files, [&](const std::string& file) {
    return beside.contains(file) || io::path_name(file) == kFolderDescription;
  });
  if (files.empty())
    throw UsageError(str(what, ": ", patterns,
                         " matches only descriptions and indexes of records, and no record file"),
                     "name the record files");
  return files;
}

RecordIndex::RecordIndex(std::vector<std::string> paths)
    : layouts_(paths.size()), open_(std::move(paths), kOpenFiles) {
  run_each(files().size(), kSideBySide,
           [&](std::size_t file) { layouts_[file] = learn(files()[file]); });
  for (const File& file : layouts_) first_.push_back(first_.back() + file.layout.sizes.size());
  if (size() == 0)
    throw UsageError(str(join(files(), ", "), ": no records"),
                     "make the data again, with `smelt run` or `smelt data`, or give other files");
}

RecordIndex::File RecordIndex::learn(const std::string& path) {
  const io::RandomAccessFile bytes(path);
  auto found = load_record_index(bytes);
  if (!found && io::is_remote(path) && !said_.test_and_set())
    log_warning(
        "{} has no index file (.index): the whole file is read to find its records; `smelt data "
        "index` writes an index",
        path);
  File file{.layout = found ? std::move(*found) : scan_records(bytes), .marks = {}};
  const io::NarrowNumbers& sizes = file.layout.sizes;
  std::uint64_t offset = 0;
  for (std::uint64_t record = 0; record < sizes.size(); record += kMarkEvery) {
    file.marks.push_back(offset);
    offset += sizes.sum(record, std::min(record + kMarkEvery, sizes.size()));
  }
  return file;
}

std::uint64_t RecordIndex::bytes() const {
  std::uint64_t bytes = 0;
  for (const File& file : layouts_) bytes += file.layout.file_size();
  return bytes;
}

std::size_t RecordIndex::file_of(std::uint64_t record) const {
  CHECK(record < size(), record, " of ", size());
  const auto after = std::upper_bound(first_.begin(), first_.end(), record);
  return static_cast<std::size_t>(after - first_.begin()) - 1;
}

std::uint64_t RecordIndex::offset(std::size_t file, std::uint64_t record_in_file) const {
  const std::uint64_t mark = record_in_file / kMarkEvery;
  return layouts_[file].marks[mark] +
         layouts_[file].layout.sizes.sum(mark * kMarkEvery, record_in_file);
}

std::uint64_t RecordIndex::offset(std::uint64_t record) const {
  const std::size_t file = file_of(record);
  return offset(file, record - first_[file]);
}

std::optional<std::uint64_t> RecordIndex::tokens(std::uint64_t record) const {
  const std::size_t file = file_of(record);
  const io::NarrowNumbers& tokens = layouts_[file].layout.tokens;
  if (tokens.size() == 0) return std::nullopt;
  return tokens[record - first_[file]];
}

void RecordIndex::read(std::uint64_t first, std::uint64_t count, std::string& buffer,
                       const Use& use) const {
  read(first, count, buffer, use, [](std::uint64_t, const char*) { throw; });
}

void RecordIndex::read(std::uint64_t first, std::uint64_t count, std::string& buffer,
                       const Use& use, const Refuse& refuse) const {
  while (count > 0) {
    const std::size_t file = file_of(first);
    const io::NarrowNumbers& sizes = layouts_[file].layout.sizes;
    const std::uint64_t begin = first - first_[file];
    const std::uint64_t end = std::min(begin + count, sizes.size());
    const std::uint64_t start = offset(file, begin);
    std::uint64_t last = begin + 1;
    std::size_t bytes = sizes[begin];
    while (last < end && bytes + sizes[last] <= kRunBytes) bytes += sizes[last++];

    if (buffer.size() < bytes) buffer.resize(bytes);
    const std::size_t read = open_.open(file)->read_at(start, std::span(buffer.data(), bytes));
    std::string_view rest(buffer.data(), read);
    std::uint64_t at = start;
    for (std::uint64_t record = begin; record < last; ++record, ++first) {
      try {
        use(first, io::parse_record(rest, sizes[record], {files()[file], at}));
      } catch (const UsageError& error) {
        refuse(first, error.what());
      }
      rest.remove_prefix(std::min<std::size_t>(rest.size(), sizes[record]));
      at += sizes[record];
    }
    count -= last - begin;
  }
}

RecordBytes RecordIndex::read_bytes(std::uint64_t first, std::uint64_t count) const {
  RecordBytes out;
  while (count > 0) {
    const std::size_t file = file_of(first);
    const io::NarrowNumbers& sizes = layouts_[file].layout.sizes;
    const std::uint64_t begin = first - first_[file];
    const std::uint64_t taken = std::min(count, sizes.size() - begin);
    const std::uint64_t start = offset(file, begin), last = begin + taken - 1;
    RecordBytes::Piece piece{.file = file, .offset = start, .bytes = {}};
    piece.bytes.resize(offset(file, last) + sizes[last] - start);
    piece.bytes.resize(open_.open(file)->read_at(start, piece.bytes));
    out.pieces.push_back(std::move(piece));
    first += taken;
    count -= taken;
  }
  return out;
}

std::string_view RecordIndex::raw(const RecordBytes& bytes, std::uint64_t record) const {
  const std::size_t file = file_of(record);
  const auto piece = std::ranges::find(bytes.pieces, file, &RecordBytes::Piece::file);
  CHECK(piece != bytes.pieces.end(), record);
  const std::uint64_t in_file = record - first_[file];
  const std::string_view rest(piece->bytes);
  return rest.substr(std::min<std::size_t>(rest.size(), offset(file, in_file) - piece->offset),
                     layouts_[file].layout.sizes[in_file]);
}

std::string_view RecordIndex::checked(std::string_view raw, std::uint64_t record) const {
  const std::size_t file = file_of(record);
  const std::uint64_t in_file = record - first_[file];
  return io::parse_record(raw, layouts_[file].layout.sizes[in_file],
                          {files()[file], offset(file, in_file)});
}

std::string RecordIndex::read(std::uint64_t record) const {
  std::string buffer, out;
  read(record, 1, buffer, [&](std::uint64_t, std::string_view data) { out = data; });
  return out;
}

std::string RecordIndex::place(std::uint64_t record) const {
  const std::size_t file = file_of(record);
  return str(files()[file], ": record ", record - first_[file]);
}

}  // namespace smelt::data
