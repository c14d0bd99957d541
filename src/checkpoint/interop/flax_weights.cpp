#include "checkpoint/interop/flax_weights.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/error.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/random_access_file.h"

namespace smelt::checkpoint {
namespace {

constexpr int kMostDepth = 64;
constexpr std::uint64_t kMostName = 1024;  // bytes of an array's full name
constexpr double kMostValues = 1e12;       // values of an array; a dimension of 0 counts as 1
constexpr std::uint8_t kArrayType = 1;     // flax.serialization's extension type of arrays

struct StoredArray {
  compiler::Shape shape;
  std::uint64_t offset = 0;
};

class FlaxTree {
 public:
  explicit FlaxTree(const io::RandomAccessFile& file) : file_(file) {}

  std::map<std::string, StoredArray> read() {
    if (!is_map(peek())) fail("is not a map of names");
    node("", 0);
    if (at_ != file_.size()) fail("has data after its end");
    return std::move(found_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw UsageError(str(file_.path(), ": ", what, " (byte ", at_, ")"),
                     "give transformers' flax_model.msgpack, or its model.safetensors");
  }

  std::uint8_t peek() {
    if (at_ < begin_ || at_ >= begin_ + held_) {
      begin_ = at_;
      held_ = at_ < file_.size() ? file_.read_at(at_, buffer_) : 0;
      if (held_ == 0) fail("ends too early");
    }
    return static_cast<std::uint8_t>(buffer_[at_ - begin_]);
  }
  std::uint8_t byte() {
    const std::uint8_t out = peek();
    ++at_;
    return out;
  }
  std::uint64_t number(int bytes) {
    std::uint64_t out = 0;
    for (int i = 0; i < bytes; ++i) out = out << 8 | byte();
    return out;
  }
  void skip(std::uint64_t bytes) {
    if (bytes > file_.size() - at_) fail("ends too early");
    at_ += bytes;
  }
  std::string text(std::uint64_t size) {
    if (size > kMostName) fail("has a name of more than 1024 bytes");
    std::string out;
    for (std::uint64_t i = 0; i < size; ++i) out += static_cast<char>(byte());
    return out;
  }

  static bool is_map(std::uint8_t type) {
    return (type & 0xF0) == 0x80 || type == 0xDE || type == 0xDF;
  }
  // Reads a size. If `type` without the bits of `mask` is `fixed`, the size is type & mask.
  // Otherwise the types `first`, first + 1, ... (`kinds` of them) have a size of `bytes`,
  // 2 * bytes, ... bytes after the type byte. Returns nullopt for any other type.
  std::optional<std::uint64_t> size_of(std::uint8_t type, std::uint8_t fixed, std::uint8_t mask,
                                       std::uint8_t first, int bytes, int kinds) {
    if ((type & ~mask) == fixed) return type & mask;
    for (int i = 0; i < kinds; ++i, bytes *= 2)
      if (type == first + i) return number(bytes);
    return std::nullopt;
  }
  std::string name() {
    const auto size = size_of(byte(), 0xA0, 0x1F, 0xD9, 1, 3);
    if (!size) fail("contains a key or a type name that is not a string");
    return text(*size);
  }
  std::int64_t whole() {
    const std::uint8_t type = byte();
    if (type < 0x80) return type;
    if (type < 0xCC || type > 0xCF) fail("has an array dimension that is not an integer");
    const std::uint64_t out = number(1 << (type - 0xCC));
    if (out > std::uint64_t{1} << 40) fail("has an array dimension that is too large");
    return static_cast<std::int64_t>(out);
  }

  void node(const std::string& path, int depth) {
    if (depth > kMostDepth) fail("has more than 64 levels of names");
    if (path.size() > kMostName) fail("has a name of more than 1024 bytes");
    const std::uint8_t type = byte();
    if (is_map(type)) {
      const std::uint64_t count = *size_of(type, 0x80, 0x0F, 0xDE, 2, 2);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string key = name();
        if (key == "__msgpack_chunked_array__")
          fail(str("has '", path, "' in several chunks, which is not supported"));
        node(path.empty() ? key : str(path, "/", key), depth + 1);
      }
      return;
    }
    std::uint64_t size = 0;
    if (type >= 0xD4 && type <= 0xD8)
      size = std::uint64_t{1} << (type - 0xD4);
    else if (type >= 0xC7 && type <= 0xC9)
      size = number(1 << (type - 0xC7));
    else
      fail(str("has '", path, "', which is not an array"));
    if (byte() != kArrayType) fail(str("has '", path, "', which is not an array"));
    const std::uint64_t end = at_ + size;
    found_[path] = array(path);
    if (at_ != end) fail(str("has '", path, "', whose size differs from its content"));
  }

  StoredArray array(const std::string& path) {
    if (byte() != 0x93) fail(str("has '", path, "', which is not an array"));
    const auto rank = size_of(byte(), 0x90, 0x0F, 0xDC, 2, 1);
    if (!rank || *rank > 8) fail(str("has '", path, "' without valid dimensions"));
    StoredArray out;
    for (std::uint64_t i = 0; i < *rank; ++i) out.shape.dims.push_back(whole());
    const std::string dtype = name();
    const std::pair<const char*, compiler::DType> known[] = {{"float32", compiler::DType::f32},
                                                             {"float16", compiler::DType::f16},
                                                             {"bfloat16", compiler::DType::bf16},
                                                             {"float64", compiler::DType::f64}};
    const auto* found =
        std::ranges::find(known, dtype, &std::pair<const char*, compiler::DType>::first);
    if (found == std::end(known)) fail(str("has '", path, "' of unsupported type ", dtype));
    out.shape.dtype = found->second;
    const std::uint8_t type = byte();
    if (type < 0xC4 || type > 0xC6) fail(str("has '", path, "' without values"));
    const std::uint64_t size = number(1 << (type - 0xC4));
    out.offset = at_;
    double wanted = static_cast<double>(compiler::dtype_size_bytes(out.shape.dtype)), extent = 1;
    for (const std::int64_t dim : out.shape.dims) {
      wanted *= static_cast<double>(dim);
      extent *= static_cast<double>(std::max<std::int64_t>(dim, 1));
    }
    if (extent > kMostValues) fail(str("has '", path, "' with dimensions that are too large"));
    if (wanted != static_cast<double>(size))
      fail(str("has '", path, "' with ", size, " bytes, which does not match its dimensions"));
    skip(size);
    return out;
  }

  const io::RandomAccessFile& file_;
  std::array<char, 4096> buffer_;
  std::uint64_t at_ = 0, begin_ = 0;
  std::size_t held_ = 0;
  std::map<std::string, StoredArray> found_;
};

std::vector<std::byte> turned(const std::vector<std::byte>& values, const compiler::Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape.dims[0]),
             columns = static_cast<std::size_t>(shape.dims[1]);
  const std::size_t item = compiler::dtype_size_bytes(shape.dtype);
  std::vector<std::byte> out(values.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>((r * columns + c) * item), item,
                  out.begin() + static_cast<std::ptrdiff_t>((c * rows + r) * item));
  return out;
}

}  // namespace

io::LazyTensors open_flax_weights(const std::string& path) {
  const auto file = std::make_shared<const io::RandomAccessFile>(path);
  refuse_lfs_pointer(*file);
  io::LazyTensors out;
  for (const auto& [own, array] : FlaxTree(*file).read()) {
    const auto slash = own.rfind('/');
    std::string name = own.substr(0, slash == own.npos ? 0 : slash + 1);
    std::string last = own.substr(name.size());
    if (name.starts_with("params/")) name.erase(0, 7);
    const bool is_kernel = last == "kernel" && array.shape.rank() == 2;
    if (last == "kernel" || last == "embedding" || last == "scale") last = "weight";
    std::ranges::replace(name, '/', '.');
    const auto read = [file, array = array] {
      return read_exactly(*file, array.offset, array.shape.size_bytes());
    };
    io::LazyTensor tensor{array.shape, read};
    if (is_kernel)
      tensor = {{array.shape.dtype, {array.shape.dims[1], array.shape.dims[0]}},
                [read, shape = array.shape] { return turned(read(), shape); },
                read};
    out.emplace(name + last, std::move(tensor));
  }
  return out;
}

}  // namespace smelt::checkpoint
