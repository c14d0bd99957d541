#include "io/formats/snapshot.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "io/formats/tensorflow_type.h"
#include "io/formats/wire.h"

namespace smelt::io {
namespace {

constexpr std::uint32_t kRunField = 2, kVersionField = 4, kTypeField = 5, kElementsField = 6,
                        kFinalizedField = 1000;
constexpr std::string_view kFoldersHint =
    "give folders written by tf.data.Dataset.save whose elements are scalars or lists of token ids";

bool is_integer(std::int64_t type) {
  switch (static_cast<SnapshotType>(type)) {
    case SnapshotType::int32:
    case SnapshotType::uint8:
    case SnapshotType::int16:
    case SnapshotType::int8:
    case SnapshotType::int64:
    case SnapshotType::uint16:
    case SnapshotType::uint32:
    case SnapshotType::uint64:
      return type >= 0 && type <= std::numeric_limits<std::uint8_t>::max();
  }
  return false;
}

// Calls `use` with a value-initialized number of the type.
template <class Use>
auto with_type(SnapshotType type, const Use& use) {
  switch (type) {
    case SnapshotType::int32:
      return use(std::int32_t{});
    case SnapshotType::uint8:
      return use(std::uint8_t{});
    case SnapshotType::int16:
      return use(std::int16_t{});
    case SnapshotType::int8:
      return use(std::int8_t{});
    case SnapshotType::uint16:
      return use(std::uint16_t{});
    case SnapshotType::uint32:
      return use(std::uint32_t{});
    case SnapshotType::uint64:
      return use(std::uint64_t{});
    case SnapshotType::int64:
      break;
  }
  return use(std::int64_t{});
}

[[noreturn]] void refuse_tensor(const RecordPlace& place, std::string_view what) {
  throw UsageError(str(place.file, ": record at offset ", place.offset, ": ", what), kFoldersHint);
}

void check_kind(WireType found, WireType wanted, std::uint32_t field, std::string_view where) {
  if (found != wanted)
    throw UsageError(
        str(where, ": field ", field, " has the wrong wire type ", static_cast<int>(found)),
        "the file is damaged: make or copy it again");
}

// Returns the dimensions in a TensorShapeProto, whose fields are dim = 2 {size = 1} and
// unknown_rank = 3.
std::vector<std::int64_t> parse_shape(std::string_view message, const std::string& where) {
  std::vector<std::int64_t> sizes;
  WireReader shape(message, where);
  while (const auto field = shape.next()) {
    if (field->number != 2) continue;
    check_kind(field->type, WireType::bytes, 2, where);
    std::int64_t size = 0;
    WireReader dim(field->bytes, where);
    while (const auto part = dim.next())
      if (part->number == 1 && part->type == WireType::varint) size = part->integer();
    sizes.push_back(size);
  }
  return sizes;
}

template <class Number>
void append_numbers(std::string_view content, const RecordPlace& place,
                    std::vector<std::int32_t>& ids) {
  using Unsigned = std::make_unsigned_t<Number>;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  const std::size_t before = ids.size(), count = content.size() / sizeof(Number);
  ids.resize(before + count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<Number>(
        from_little_endian<Unsigned>({content.data() + i * sizeof(Number), sizeof(Number)}));
    const auto id = static_cast<std::uint64_t>(number);
    if (number < 0 || id > kMost)
      throw UsageError(
          str(place.file, ": record at offset ", place.offset, ": ", +number, " is not a token id"),
          "ids are from 0 to 2147483647");
    ids[before + i] = static_cast<std::int32_t>(id);
  }
}

void check_metadata(const std::vector<std::int64_t>& types, std::int64_t version, bool finalized,
                    std::string_view where) {
  if (version != kSnapshotVersion)
    throw UsageError(str(where, ": snapshot version ", version, ", expected ", kSnapshotVersion),
                     "save it again with tf.data.Dataset.save");
  if (types.size() != 1)
    throw UsageError(str(where, ": each element has ", types.size(), " tensors, expected one"),
                     kFoldersHint);
  if (!is_integer(types.front()))
    throw UsageError(
        str(where, ": elements are ", tensorflow_type_name(types.front()), ", expected integers"),
        kFoldersHint);
  if (!finalized)
    throw UsageError(str(where, ": the snapshot is incomplete"),
                     "save it again with tf.data.Dataset.save");
}

}  // namespace

SnapshotMetadata parse_snapshot_metadata(std::string_view bytes, std::string_view where) {
  SnapshotMetadata out;
  std::vector<std::int64_t> types;
  std::int64_t version = 0, elements = 0;
  bool finalized = false;
  WireReader fields(bytes, where);
  while (const auto field = fields.next()) {
    const auto number = [&] {
      check_kind(field->type, WireType::varint, field->number, where);
      return field->integer();
    };
    switch (field->number) {
      case kRunField:
        check_kind(field->type, WireType::bytes, field->number, where);
        out.run = field->bytes;
        break;
      case kVersionField:
        version = number();
        break;
      case kTypeField:
        append_integers(*field, where, types);
        break;
      case kElementsField:
        elements = number();
        break;
      case kFinalizedField:
        finalized = number() != 0;
        break;
      default:
        break;
    }
  }
  check_metadata(types, version, finalized, where);
  if (out.run.empty() || !std::ranges::all_of(out.run, [](char c) { return c >= '0' && c <= '9'; }))
    throw UsageError(str(where, ": run '", out.run, "' is not a number"),
                     "the file is damaged: make or copy it again");
  out.type = static_cast<SnapshotType>(types.front());
  if (elements > 0) out.elements = static_cast<std::uint64_t>(elements);
  return out;
}

void check_snapshot_packing(std::string_view head, std::string_view file) {
  if (head.size() < kRecordHeaderBytes || begins_record(head)) return;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  // A SNAPPY block begins with its length and its decompressed length, both big-endian. In a
  // damaged record these bytes are zeros.
  const bool snappy = byte(0) == 0 && byte(1) + byte(2) + byte(3) > 0 && byte(4) > 0;
  const bool zlib = byte(0) == 0x78 && (byte(0) * 256 + byte(1)) % 31 == 0;
  if (snappy || zlib)
    throw UsageError(str(file, ": compressed with ", snappy ? "SNAPPY" : "ZLIB"),
                     "save it with compression=\"GZIP\" or without compression");
}

// Returns the field tensor_content of a TensorProto after checking dtype and shape. Snapshots do
// not use the other fields that can store numbers. Field numbers: dtype = 1, tensor_shape = 2,
// tensor_content = 4.
std::string_view TokenTensors::content_of(std::string_view message, const RecordPlace& place) {
  if (!before_.empty() && message.size() == size_ && message.starts_with(before_))
    return message.substr(before_.size());
  const std::string where = str(place.file, ": record at offset ", place.offset);
  std::int64_t type = 0;
  std::vector<std::int64_t> shape;
  std::string_view content;
  WireReader fields(message, where);
  while (const auto field = fields.next()) {
    if (field->number == 3 || field->number == 4) {
      if (field->number == 4 && field->type == WireType::bytes) content = field->bytes;
    } else if (field->number == 1 && field->type == WireType::varint) {
      type = field->integer();
    } else if (field->number == 2 && field->type == WireType::bytes) {
      shape = parse_shape(field->bytes, where);
    } else {
      refuse_tensor(place,
                    str("a tensor with field ", field->number, ", not one with tensor_content"));
    }
  }
  if (type != static_cast<std::int64_t>(type_))
    refuse_tensor(place, str("a tensor of ", tensorflow_type_name(type), ", not ",
                             tensorflow_type_name(static_cast<std::int64_t>(type_)),
                             " as snapshot.metadata says"));
  if (shape.size() > 1)
    refuse_tensor(place, str("a tensor of rank ", shape.size(), ", not 0 or 1"));
  const std::size_t width = with_type(type_, [](auto number) { return sizeof number; });
  const std::int64_t count = shape.empty() ? 1 : shape.front();
  if (content.size() % width != 0 || count < 0 ||
      content.size() / width != static_cast<std::uint64_t>(count))
    refuse_tensor(place, str(content.size(), " bytes for a tensor of ", count, " numbers"));
  scalar_ = shape.empty();
  size_ = message.size();
  before_.clear();
  if (!content.empty() && content.data() + content.size() == message.data() + message.size())
    before_ = message.substr(0, message.size() - content.size());
  return content;
}

void TokenTensors::append(std::string_view message, const RecordPlace& place,
                          std::vector<std::int32_t>& ids) {
  const std::string_view content = content_of(message, place);
  with_type(type_, [&](auto number) { append_numbers<decltype(number)>(content, place, ids); });
}

}  // namespace smelt::io
