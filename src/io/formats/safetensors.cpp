#include "io/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/nearest_name.h"
#include "io/formats/little_endian.h"

namespace smelt::io {
namespace {

constexpr std::size_t kLengthBytes = kSafetensorsLengthBytes;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the official reader's limit
constexpr std::string_view kMetadataKey = "__metadata__";

// In the order of the official writer, widest first.
constexpr std::array<std::pair<compiler::DType, std::string_view>, 12> kDTypes{
    {{compiler::DType::u64, "U64"},
     {compiler::DType::s64, "I64"},
     {compiler::DType::f64, "F64"},
     {compiler::DType::f32, "F32"},
     {compiler::DType::u32, "U32"},
     {compiler::DType::s32, "I32"},
     {compiler::DType::bf16, "BF16"},
     {compiler::DType::f16, "F16"},
     {compiler::DType::u16, "U16"},
     {compiler::DType::s8, "I8"},
     {compiler::DType::u8, "U8"},
     {compiler::DType::pred, "BOOL"}}};

std::size_t place(compiler::DType dtype) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                  [&](const auto& item) { return item.first == dtype; });
  CHECK(found != kDTypes.end());
  return static_cast<std::size_t>(found - kDTypes.begin());
}

template <class Tensors>
std::vector<const typename Tensors::value_type*> file_order(const Tensors& tensors) {
  std::vector<const typename Tensors::value_type*> order;
  for (const auto& item : tensors) order.push_back(&item);
  std::ranges::stable_sort(order, {},
                           [](const auto* item) { return place(item->second.shape.dtype); });
  return order;
}

template <class Order>
std::string header_text(const Order& order, const Metadata& metadata) {
  OrderedJson header = OrderedJson::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  std::uint64_t offset = 0;
  for (const auto* item : order) {
    const auto& [name, tensor] = *item;
    CHECK(name != kMetadataKey);
    const std::uint64_t end = offset + tensor.shape.size_bytes();
    header[name] = {{"dtype", safetensors_dtype(tensor.shape.dtype)},
                    {"shape", tensor.shape.dims},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  return text;
}

template <class Tensors, class Write, class DataOf>
void write_tensors(const Tensors& tensors, const Metadata& metadata, const Write& write,
                   const DataOf& data_of) {
  const auto order = file_order(tensors);
  const std::string header = header_text(order, metadata);
  const auto length = to_little_endian(std::uint64_t{header.size()});
  write({length.data(), length.size()});
  write(header);
  for (const auto* item : order) {
    const auto& data = data_of(item->second);
    CHECK(data.size() == item->second.shape.size_bytes(), item->first, " ", item->second.shape,
          ": ", data.size(), " bytes");
    if (!data.empty()) write({reinterpret_cast<const char*>(data.data()), data.size()});
  }
}

// Reads one header. Every error names the file and, if known, the tensor.
class HeaderReader {
 public:
  // `head` is the beginning of the file, `file_bytes` its size.
  HeaderReader(std::string_view head, std::uint64_t file_bytes, std::string_view origin)
      : head_(head), file_bytes_(file_bytes), origin_(origin) {}

  SafetensorsHeader read() {
    const Json header = parse();
    SafetensorsHeader out;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadataKey)
        out.metadata = read_metadata(value);
      else
        out.tensors.emplace(name, read_tensor(name, value));
    }
    check_coverage(out);
    return out;
  }

  std::uint64_t header_size() const {
    if (file_bytes_ < kLengthBytes)
      refuse(str("truncated: ", file_bytes_, " bytes, and the header's length alone takes 8"));
    const std::uint64_t length = from_little_endian<std::uint64_t>(head_);
    if (length > kMaxHeaderBytes)
      refuse(str("the header's length ", length, " is above the limit of ", kMaxHeaderBytes,
                 " bytes"));
    if (length > file_bytes_ - kLengthBytes)
      refuse(str("truncated: the header has ", length, " bytes and only ",
                 file_bytes_ - kLengthBytes, " follow its length"));
    return length;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError(str(origin_, ": ", what),
                     "the file is damaged or not a safetensors file: copy or download it again");
  }
  [[noreturn]] void refuse(std::string_view tensor, const std::string& what) const {
    refuse(str("tensor '", tensor, "': ", what));
  }

  Json parse() {
    const std::uint64_t length = header_size();
    data_at_ = kLengthBytes + length;
    return parse_json(head_.substr(kLengthBytes, length));
  }

  Json parse_json(std::string_view text) const {
    std::optional<std::string> twice;
    const auto watch = [&](int depth, const std::string& name) {
      if (depth == 1) twice = name;
    };
    Json header;
    try {
      header = Json::parse(text, watch);
    } catch (const JsonError&) {
      refuse("the header is not JSON");
    }
    if (twice) refuse(*twice, "is listed twice");
    if (!header.is_object()) refuse("the header is not a JSON object");
    return header;
  }

  Metadata read_metadata(const Json& value) const {
    Metadata metadata;
    if (!value.is_object()) refuse(str(kMetadataKey, " is not a JSON object"));
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) refuse(str(kMetadataKey, ": '", key, "' is not a text"));
      metadata.emplace(key, text.get<std::string>());
    }
    return metadata;
  }

  std::uint64_t whole_number(std::string_view tensor, const Json& value, const char* what) const {
    if (!value.is_number_unsigned()) refuse(tensor, str(what, " is not a whole number"));
    return value.get<std::uint64_t>();
  }

  compiler::Shape read_shape(std::string_view name, const Json& value) const {
    const Json& dtype = value.at("dtype");
    const auto known = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const auto& item) {
      return dtype.is_string() && dtype == item.second;
    });
    if (dtype.is_structured()) refuse(name, "dtype is not a text");
    if (known == kDTypes.end()) refuse(name, str("dtype ", dtype.dump(), " is not supported"));
    compiler::Shape shape{known->first, {}};
    std::uint64_t size = compiler::dtype_size_bytes(shape.dtype);
    if (!value.at("shape").is_array()) refuse(name, "shape is not a list");
    for (const Json& dim : value.at("shape")) whole_number(name, dim, "a dimension");
    for (const Json& dim : value.at("shape")) {
      const auto extent = dim.get<std::uint64_t>();
      if (extent != 0 && size > std::numeric_limits<std::int64_t>::max() / extent)
        refuse(name, str("shape ", value.at("shape").dump(), " has too many elements"));
      size *= extent;
      if (extent > std::numeric_limits<std::int64_t>::max())
        refuse(name, str("shape ", value.at("shape").dump(), " has too many elements"));
      shape.dims.push_back(static_cast<std::int64_t>(extent));
    }
    return shape;
  }

  SafetensorsHeader::Place read_tensor(const std::string& name, const Json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
        !value.contains("shape") || !value.contains("data_offsets"))
      refuse(name, "its entry is not {dtype, shape, data_offsets}");
    const compiler::Shape shape = read_shape(name, value);
    const Json& offsets = value.at("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2)
      refuse(name, "data_offsets is not [begin, end]");
    const std::uint64_t begin = whole_number(name, offsets[0], "an offset");
    const std::uint64_t end = whole_number(name, offsets[1], "an offset");
    if (begin > end || end > file_bytes_ - data_at_)
      refuse(name, str("data_offsets ", offsets.dump(), " lie outside of the ",
                       file_bytes_ - data_at_, " bytes of data"));
    if (end - begin != shape.size_bytes())
      refuse(name, str(shape, " takes ", shape.size_bytes(), " bytes, data_offsets ",
                       offsets.dump(), " hold ", end - begin));
    return {shape, data_at_ + begin};
  }

  // Checks that the tensors cover the data without gaps and overlaps, as the format requires.
  void check_coverage(const SafetensorsHeader& header) const {
    std::vector<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::string_view>> pieces;
    for (const auto& [name, tensor] : header.tensors) {
      const std::uint64_t begin = tensor.offset - data_at_;
      pieces.push_back({{begin, begin + tensor.shape.size_bytes()}, name});
    }
    std::sort(pieces.begin(), pieces.end());
    std::uint64_t end = 0;
    for (const auto& [range, name] : pieces) {
      if (range.first != end)
        refuse(name, str("begins at ", range.first, ", where the tensor before it ends at ", end));
      end = range.second;
    }
    if (end != file_bytes_ - data_at_)
      refuse(str("the tensors end at byte ", end, " of the data, which has ",
                 file_bytes_ - data_at_, " bytes"));
  }

  std::string_view head_;
  std::uint64_t file_bytes_;
  std::string_view origin_;
  std::uint64_t data_at_ = 0;
};

}  // namespace

std::string_view safetensors_dtype(compiler::DType dtype) { return kDTypes[place(dtype)].second; }

void write_safetensors(const TensorMap& tensors, const Metadata& metadata,
                       const std::function<void(std::string_view)>& write) {
  write_tensors(tensors, metadata, write, [](const TensorView& tensor) { return tensor.data; });
}

void write_safetensors(const LazyTensors& tensors, const Metadata& metadata,
                       const std::function<void(std::string_view)>& write) {
  write_tensors(tensors, metadata, write, [](const LazyTensor& tensor) { return tensor.read(); });
}

std::uint64_t safetensors_size_bytes(const TensorMap& tensors, const Metadata& metadata) {
  std::uint64_t size = 0;
  write_safetensors(tensors, metadata, [&](std::string_view piece) { size += piece.size(); });
  return size;
}

std::string safetensors_bytes(const TensorMap& tensors, const Metadata& metadata) {
  std::string bytes;
  bytes.reserve(safetensors_size_bytes(tensors, metadata));
  write_safetensors(tensors, metadata, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

std::uint64_t safetensors_header_size(std::string_view head, std::string_view origin) {
  return HeaderReader(head, head.size() < kLengthBytes ? head.size() : ~std::uint64_t{0}, origin)
      .header_size();
}

SafetensorsHeader parse_safetensors_header(std::string_view head, std::uint64_t file_bytes,
                                           std::string_view origin) {
  return HeaderReader(head, file_bytes, origin).read();
}

SafetensorsFile::SafetensorsFile(std::string bytes, std::string origin)
    : SafetensorsFile(std::make_shared<const std::string>(std::move(bytes)), std::move(origin)) {}

SafetensorsFile::SafetensorsFile(const std::shared_ptr<const std::string>& bytes,
                                 std::string origin)
    : SafetensorsFile(bytes, *bytes, std::move(origin)) {}

SafetensorsFile::SafetensorsFile(std::shared_ptr<const void> owner, std::string_view bytes,
                                 std::string origin)
    : origin_(std::move(origin)), owner_(std::move(owner)) {
  const SafetensorsHeader header = HeaderReader(bytes, bytes.size(), origin_).read();
  metadata_ = header.metadata;
  const auto all = std::as_bytes(std::span(bytes));
  for (const auto& [name, tensor] : header.tensors)
    tensors_.emplace(
        name, TensorView{tensor.shape, all.subspan(tensor.offset, tensor.shape.size_bytes())});
}

const TensorView& SafetensorsFile::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& item : tensors_) known.push_back(item.first);
  throw UsageError(str(origin_, ": no tensor '", name, "'"), did_you_mean(name, known));
}

}  // namespace smelt::io
