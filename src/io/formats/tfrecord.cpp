#include "io/formats/tfrecord.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"

namespace smelt::io {
namespace {

constexpr std::string_view kHint = "the file is damaged: make or copy it again";

[[noreturn]] void fail(const RecordPlace& place, std::string_view problem) {
  throw UsageError(str(place.file, ": record at offset ", place.offset, ": ", problem), kHint);
}

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

void check_crc(std::string_view what, std::string_view bytes, std::string_view stored,
               const RecordPlace& place) {
  const auto actual = mask_crc(crc32c(bytes)), expected = from_little_endian<std::uint32_t>(stored);
  if (actual != expected)
    fail(place, str(what, " checksum ", hex(actual), " expected ", hex(expected)));
}

// Returns whether the file seems to be text. A record begins with its length, whose last byte is
// zero or not valid in UTF-8.
bool is_text(std::string_view head) {
  return !head.empty() && std::ranges::all_of(head, [](unsigned char c) {
    return (c >= ' ' && c < 0xF8) || c == '\t' || c == '\n' || c == '\r';
  });
}

[[noreturn]] void fail_cut(const RecordPlace& place, std::string_view part, std::uint64_t wanted,
                           std::uint64_t available) {
  fail(place, str("truncated: expected ", wanted, " bytes of ", part, ", found ", available));
}

// Returns the program that decompresses a file which begins with these bytes, or "" if the file is
// not compressed.
std::string_view unpacker_of(std::string_view head) {
  constexpr std::pair<std::string_view, std::string_view> kPacked[] = {
      {"\x1f\x8b\x08", "gunzip"}, {"\x28\xb5\x2f\xfd", "unzstd"}, {"BZh", "bunzip2"}};
  for (const auto& [magic, program] : kPacked)
    if (head.starts_with(magic)) return program;
  return {};
}

}  // namespace

void append_record(std::string& out, std::string_view data) {
  const std::size_t start = out.size();
  append_little_endian(out, static_cast<std::uint64_t>(data.size()));
  append_little_endian(out, mask_crc(crc32c(std::string_view(out).substr(start, 8))));
  out.append(data);
  append_little_endian(out, mask_crc(crc32c(data)));
}

bool begins_record(std::string_view head) {
  return head.size() >= kRecordHeaderBytes &&
         mask_crc(crc32c(head.substr(0, 8))) ==
             from_little_endian<std::uint32_t>(head.substr(8, 4));
}

std::uint64_t parse_record_header(std::string_view header, std::uint64_t available,
                                  const RecordPlace& place) {
  if (place.offset == 0 && is_text(header))
    throw UsageError(
        str(place.file, ": is text, not TFRecord"),
        "`smelt data` and `smelt electra build_…` convert text to records; give the records");
  if (header.size() < kRecordHeaderBytes) fail_cut(place, "header", kRecordHeaderBytes, available);
  if (place.offset == 0 && !begins_record(header))
    if (const std::string_view program = unpacker_of(header); !program.empty())
      throw UsageError(str(place.file, ": is compressed, but records must not be compressed"),
                       str("decompress it: `", program, " ", place.file, "`"));
  check_crc("length", header.substr(0, 8), header.substr(8, 4), place);
  const auto length = from_little_endian<std::uint64_t>(header);
  const std::uint64_t left = available - kRecordHeaderBytes;
  if (left < kRecordFooterBytes || length > left - kRecordFooterBytes)
    fail_cut(place, "data and 4 bytes of checksum", length, left);
  return length;
}

std::string_view check_record_data(std::string_view data_and_footer, const RecordPlace& place) {
  CHECK(data_and_footer.size() >= kRecordFooterBytes);
  const std::size_t size = data_and_footer.size() - kRecordFooterBytes;
  const std::string_view data = data_and_footer.substr(0, size);
  check_crc("data", data, data_and_footer.substr(size), place);
  return data;
}

std::string_view parse_record(std::string_view bytes, std::uint64_t size,
                              const RecordPlace& place) {
  const auto length = parse_record_header(bytes.substr(0, kRecordHeaderBytes), bytes.size(), place);
  const std::uint64_t found = kRecordHeaderBytes + length + kRecordFooterBytes;
  if (found != size)
    fail(place,
         str(found, " bytes, expected ", size, ": the file has changed since it was opened"));
  return check_record_data(bytes.substr(kRecordHeaderBytes, length + kRecordFooterBytes), place);
}

std::optional<std::string_view> RecordReader::next() {
  if (at_ == bytes_.size()) return std::nullopt;
  const RecordPlace place{file_, at_};
  const std::string_view rest = bytes_.substr(at_);
  const auto length = parse_record_header(rest.substr(0, kRecordHeaderBytes), rest.size(), place);
  const auto data = rest.substr(kRecordHeaderBytes, length + kRecordFooterBytes);
  at_ += kRecordHeaderBytes + length + kRecordFooterBytes;
  return check_record_data(data, place);
}

}  // namespace smelt::io
