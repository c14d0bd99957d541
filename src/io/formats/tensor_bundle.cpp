#include "io/formats/tensor_bundle.h"

#include <bit>
#include <cstdio>
#include <limits>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "io/formats/sstable.h"
#include "io/formats/tensorflow_type.h"
#include "io/formats/wire.h"

namespace smelt::io {
namespace {

// Field numbers of BundleHeaderProto, BundleEntryProto, TensorShapeProto and TensorSliceProto.
constexpr std::uint32_t kShards = 1, kEndianness = 2, kHeaderVersion = 3, kProducer = 1,
                        kMinConsumer = 2;
constexpr std::uint32_t kEntryType = 1, kEntryShape = 2, kShard = 3, kOffset = 4, kSize = 5,
                        kCrc = 6, kSlices = 7;
constexpr std::uint32_t kDim = 2, kUnknownRank = 3, kDimSize = 1;
constexpr std::uint32_t kExtent = 1, kExtentStart = 1, kLength = 2;
constexpr std::int64_t kBundleVersion = 1;
constexpr std::int64_t kMostShards = 100'000;  // file names have five digits for the shard

[[noreturn]] void refuse(std::string_view where, const std::string& problem) {
  throw UsageError(str(where, ": ", problem), "download or write the checkpoint again");
}

// Iterates over the fields of a message and checks their wire types.
template <class Use>
void each_field(std::string_view message, std::string_view where, const Use& use) {
  WireReader reader(message, where);
  while (const auto field = reader.next()) use(*field);
}

std::int64_t integer_of(const WireField& field, std::string_view where) {
  if (field.type != WireType::varint)
    refuse(where, str("field ", field.number, " is not an integer"));
  return field.integer();
}

// Returns the number of elements. Throws UsageError if a dimension is negative or the tensor is too
// large.
std::int64_t elements_of(const compiler::Dims& dims, std::string_view where) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && product > std::numeric_limits<std::int64_t>::max() / 16 / dim))
      refuse(where, str("impossible shape ", compiler::dims_text(dims)));
    product *= dim;
  }
  return product;
}

compiler::Dims parse_dims(std::string_view message, std::string_view where) {
  compiler::Dims dims;
  each_field(message, where, [&](const WireField& field) {
    if (field.number == kUnknownRank && integer_of(field, where) != 0)
      refuse(where, "a tensor of unknown rank");
    if (field.number != kDim) return;
    dims.push_back(0);
    each_field(field.bytes, where, [&](const WireField& dim) {
      if (dim.number == kDimSize) dims.back() = integer_of(dim, where);
    });
  });
  return dims;
}

BundleSlice parse_slice(std::string_view message, std::string_view where) {
  BundleSlice slice;
  each_field(message, where, [&](const WireField& field) {
    if (field.number != kExtent) return;
    BundleSlice::Extent extent;
    each_field(field.bytes, where, [&](const WireField& part) {
      if (part.number == kExtentStart) extent.start = integer_of(part, where);
      if (part.number == kLength) extent.length = integer_of(part, where);
    });
    slice.extents.push_back(extent);
  });
  return slice;
}

BundleEntry parse_entry(std::string_view message, std::string_view where) {
  BundleEntry entry;
  each_field(message, where, [&](const WireField& field) {
    switch (field.number) {
      case kEntryType:
        entry.type = integer_of(field, where);
        break;
      case kEntryShape:
        entry.dims = parse_dims(field.bytes, where);
        break;
      case kShard:
        entry.shard = integer_of(field, where);
        break;
      case kOffset:
        entry.offset = static_cast<std::uint64_t>(integer_of(field, where));
        break;
      case kSize:
        entry.size = static_cast<std::uint64_t>(integer_of(field, where));
        break;
      case kCrc:
        entry.crc32c = unmask_crc(static_cast<std::uint32_t>(field.bits));
        break;
      case kSlices:
        entry.slices.push_back(parse_slice(field.bytes, where));
        break;
      default:
        break;
    }
  });
  return entry;
}

void parse_header(std::string_view message, std::string_view origin, BundleIndex& out) {
  std::int64_t endianness = 0, min_consumer = 0;
  each_field(message, origin, [&](const WireField& field) {
    if (field.number == kShards) out.shards = integer_of(field, origin);
    if (field.number == kEndianness) endianness = integer_of(field, origin);
    if (field.number != kHeaderVersion) return;
    each_field(field.bytes, origin, [&](const WireField& version) {
      if (version.number == kMinConsumer) min_consumer = integer_of(version, origin);
    });
  });
  if (endianness != 0) refuse(origin, "written on a big-endian machine, which is not supported");
  if (min_consumer > kBundleVersion)
    refuse(origin, str("needs a reader of version ", min_consumer, ", but smelt supports version ",
                       kBundleVersion));
  if (out.shards < 1 || out.shards > kMostShards)
    refuse(origin, str("has ", out.shards, " files of data"));
}

void check_bytes(const BundleEntry& entry, std::int64_t shards, const std::string& where) {
  if (entry.shard < 0 || entry.shard >= shards)
    refuse(where, str("is in data file ", entry.shard, " of ", shards));
  if (entry.size > std::uint64_t{1} << 62 || entry.offset > std::uint64_t{1} << 62)
    refuse(where, str(entry.size, " bytes at ", entry.offset));
  const std::int64_t elements = elements_of(entry.dims, where);
  const auto dtype = dtype_of_tensorflow(entry.type);
  if (!dtype) return;
  const compiler::Shape shape{*dtype, entry.dims};
  if (static_cast<std::uint64_t>(elements) * compiler::dtype_size_bytes(*dtype) != entry.size)
    refuse(where, str("has ", entry.size, " bytes, but its shape is ", shape));
}

bool fits(const BundleSlice& slice, const compiler::Dims& whole) {
  if (slice.extents.size() != whole.size()) return false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto [start, length] = slice.extents[i];
    if (length == -1 ? start != 0
                     : start < 0 || length < 0 || length > whole[i] || start > whole[i] - length)
      return false;
  }
  return true;
}

bool overlap(const BundleSlice& a, const BundleSlice& b) {
  for (std::size_t i = 0; i < a.extents.size(); ++i) {
    const auto &x = a.extents[i], &y = b.extents[i];
    if (x.length == -1 || y.length == -1) continue;
    if (x.start >= y.start + y.length || y.start >= x.start + x.length) return false;
  }
  return true;
}

// Checks that every element is in exactly one part.
void check_parts(const BundleEntry& tensor, const std::string& name, const BundleIndex& index,
                 const std::string& where) {
  std::int64_t held = 0;
  for (std::size_t i = 0; i < tensor.slices.size(); ++i) {
    const BundleSlice& slice = tensor.slices[i];
    if (!fits(slice, tensor.dims)) refuse(where, "a part reaches beyond the tensor");
    const compiler::Dims dims = bundle_part_dims(slice, tensor.dims);
    const auto part = index.parts.find(bundle_part_key(name, slice));
    if (part == index.parts.end()) refuse(where, str("its part ", i, " is missing"));
    if (part->second.dims != dims || part->second.type != tensor.type)
      refuse(where, str("its part ", i, " is of another shape or type"));
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(slice, tensor.slices[j])) refuse(where, "its parts overlap");
    held += elements_of(dims, where);
  }
  if (held != elements_of(tensor.dims, where)) refuse(where, "its parts do not cover the tensor");
}

// ---- Writing

std::string shape_message(const compiler::Dims& dims) {
  WireWriter shape;
  for (const std::int64_t size : dims) {
    WireWriter dim;
    if (size != 0) dim.integer(kDimSize, size);
    shape.message(kDim, dim);
  }
  return shape.take();
}

std::string slice_message(const BundleSlice& slice) {
  WireWriter out;
  for (const auto& [start, length] : slice.extents) {
    WireWriter extent;
    if (start != 0) extent.integer(kExtentStart, start);
    if (length != -1) extent.integer(kLength, length);
    out.message(kExtent, extent);
  }
  return out.take();
}

// Returns a serialized BundleEntryProto, without fields that are 0.
std::string entry_message(const BundleEntry& entry) {
  WireWriter out;
  const auto put = [&](std::uint32_t field, std::uint64_t value) {
    if (value != 0) out.varint(field, value);
  };
  put(kEntryType, static_cast<std::uint64_t>(entry.type));
  out.bytes(kEntryShape, shape_message(entry.dims));
  if (entry.slices.empty()) {
    put(kShard, static_cast<std::uint64_t>(entry.shard));
    put(kOffset, entry.offset);
    put(kSize, entry.size);
    if (const std::uint32_t masked = mask_crc(entry.crc32c); masked != 0) out.fixed32(kCrc, masked);
  }
  for (const BundleSlice& slice : entry.slices) out.bytes(kSlices, slice_message(slice));
  return out.take();
}

std::string header_message(std::int64_t shards) {
  WireWriter version, header;
  version.integer(kProducer, kBundleVersion);
  header.integer(kShards, shards);
  header.message(kHeaderVersion, version);
  return header.take();
}

// ---- TensorFlow's "ordered code": encoded keys sort like their values.

void append_count(std::string& out, std::uint64_t value) {
  const int bytes = (static_cast<int>(std::bit_width(value)) + 7) / 8;
  out += static_cast<char>(bytes);
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

void append_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xFF';
    if (c == '\xFF') out += '\0';
  }
  out += '\0';
  out += '\1';
}

// An encoding of n bytes holds 7 n - 1 bits of the number. Its first n bits encode n; they are
// inverted for a negative number.
void append_signed(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  const int length = static_cast<int>(std::bit_width(bits)) / 7 + 1;
  unsigned char code[10];
  for (int i = 0; i < 10; ++i) {
    const int shift = 8 * (9 - i);
    code[i] = static_cast<unsigned char>(shift >= 64 ? (value < 0 ? 0xFF : 0) : value >> shift);
  }
  unsigned char* first = code + 10 - length;
  first[0] ^= static_cast<unsigned char>(length >= 8 ? 0xFF : 0xFF << (8 - length));
  if (length > 8) first[1] ^= static_cast<unsigned char>(0xFF << (16 - length));
  out.append(reinterpret_cast<const char*>(first), static_cast<std::size_t>(length));
}

}  // namespace

std::string bundle_part_key(std::string_view tensor, const BundleSlice& slice) {
  std::string key;
  append_count(key, 0);  // so that the key differs from the names of all tensors
  append_text(key, tensor);
  append_count(key, slice.extents.size());
  for (const auto& [start, length] : slice.extents) {
    append_signed(key, start);
    append_signed(key, length);
  }
  return key;
}

compiler::Dims bundle_part_dims(const BundleSlice& slice, const compiler::Dims& whole) {
  CHECK(slice.extents.size() == whole.size());
  compiler::Dims dims = whole;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (slice.extents[i].length != -1) dims[i] = slice.extents[i].length;
  return dims;
}

std::string bundle_shard_suffix(std::int64_t shard, std::int64_t shards) {
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, ".data-%05lld-of-%05lld", static_cast<long long>(shard),
                static_cast<long long>(shards));
  return suffix;
}

BundleIndex parse_bundle_index(std::string_view bytes, std::string_view origin) {
  const std::vector<TableEntry> table = read_sstable(bytes, origin);
  if (table.empty() || !table.front().key.empty()) refuse(origin, "has no header");
  BundleIndex index;
  parse_header(table.front().value, origin, index);
  for (std::size_t i = 1; i < table.size(); ++i) {
    const std::string& key = table[i].key;
    const bool part = key.front() == '\0';
    const std::string where = str(origin, ": ", part ? "a part" : str("'", key, "'"));
    BundleEntry entry = parse_entry(table[i].value, where);
    if (entry.slices.empty())
      check_bytes(entry, index.shards, where);
    else if (entry.shard != 0 || entry.offset != 0 || entry.size != 0)
      refuse(where, "has both parts and data");
    if (part && !entry.slices.empty()) refuse(where, "is a part that has parts");
    (part ? index.parts : index.tensors).emplace(key, std::move(entry));
  }
  for (const auto& [name, tensor] : index.tensors)
    if (!tensor.slices.empty()) check_parts(tensor, name, index, str(origin, ": '", name, "'"));
  return index;
}

std::string bundle_index_bytes(const BundleIndex& index) {
  std::vector<std::pair<std::string, std::string>> items{{"", header_message(index.shards)}};
  for (const BundleEntries* entries : {&index.parts, &index.tensors})  // in the keys' order
    for (const auto& [key, entry] : *entries) items.emplace_back(key, entry_message(entry));
  return sstable_bytes(items);
}

}  // namespace smelt::io
