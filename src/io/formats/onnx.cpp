#include "io/formats/onnx.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace smelt::io {
namespace {

// Field numbers of onnx.proto's messages.
constexpr std::uint32_t kModelIrVersion = 1, kModelProducer = 2, kModelGraph = 7, kModelOpset = 8,
                        kModelProperty = 14, kOpsetVersion = 2, kPropertyKey = 1,
                        kPropertyValue = 2;
constexpr std::uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11,
                        kGraphOutput = 12;
constexpr std::uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOp = 4,
                        kNodeAttribute = 5;
constexpr std::uint32_t kAttributeName = 1, kAttributeF = 2, kAttributeI = 3, kAttributeInts = 8,
                        kAttributeType = 20;
constexpr std::int64_t kIsFloat = 1, kIsInt = 2, kIsInts = 7;  // types of an attribute
constexpr std::uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9;
constexpr std::uint32_t kValueName = 1, kValueType = 2, kTypeTensor = 1, kTypeElement = 1,
                        kTypeShape = 2, kShapeDim = 1, kDimValue = 1, kDimParam = 2;

constexpr std::uint32_t kDelimited = static_cast<std::uint32_t>(WireType::bytes);

std::int64_t type_number(compiler::DType type) {
  switch (type) {
    case compiler::DType::f32:
      return 1;
    case compiler::DType::u8:
      return 2;
    case compiler::DType::s8:
      return 3;
    case compiler::DType::s32:
      return 6;
    case compiler::DType::s64:
      return 7;
    default:
      CHECK(false, "no ONNX type for ", type);
      return 0;
  }
}

WireWriter attribute_message(const OnnxAttribute& a) {
  WireWriter out;
  out.bytes(kAttributeName, a.name);
  if (const auto* number = std::get_if<std::int64_t>(&a.value)) {
    out.integer(kAttributeI, *number);
    out.integer(kAttributeType, kIsInt);
  } else if (const auto* real = std::get_if<float>(&a.value)) {
    out.real(kAttributeF, *real);
    out.integer(kAttributeType, kIsFloat);
  } else {
    for (const std::int64_t each : std::get<std::vector<std::int64_t>>(a.value))
      out.integer(kAttributeInts, each);
    out.integer(kAttributeType, kIsInts);
  }
  return out;
}

WireWriter value_message(const std::string& of, compiler::DType type,
                         const std::vector<std::string>& sizes) {
  WireWriter all_dims, tensor, type_of, out;
  for (const std::string& size : sizes) {
    WireWriter one;
    if (size.find_first_not_of("0123456789") == size.npos)
      one.integer(kDimValue, std::stoll(size));
    else
      one.bytes(kDimParam, size);
    all_dims.message(kShapeDim, one);
  }
  tensor.integer(kTypeElement, type_number(type));
  tensor.message(kTypeShape, all_dims);
  type_of.message(kTypeTensor, tensor);
  out.bytes(kValueName, of);
  out.message(kValueType, type_of);
  return out;
}

// Returns the beginning of a length-delimited field: its number and size. The caller appends `size`
// bytes.
std::string begun(std::uint32_t field, std::uint64_t size) {
  WireWriter out;
  out.raw_varint(field << 3 | kDelimited);
  out.raw_varint(size);
  return out.take();
}

template <class T>
LazyTensor held(compiler::DType type, compiler::Dims sizes, std::vector<T> values) {
  return {{type, std::move(sizes)}, [values = std::move(values)] {
            std::vector<std::byte> bytes(values.size() * sizeof(T));
            std::memcpy(bytes.data(), values.data(), bytes.size());
            return bytes;
          }};
}

}  // namespace

std::string OnnxGraph::input(const std::string& of, compiler::DType type,
                             const std::vector<std::string>& sizes) {
  inputs_.message(kGraphInput, value_message(of, type, sizes));
  return of;
}

void OnnxGraph::output(const std::string& of, compiler::DType type,
                       const std::vector<std::string>& sizes) {
  outputs_.message(kGraphOutput, value_message(of, type, sizes));
}

std::string OnnxGraph::constant(const std::string& of, LazyTensor tensor) {
  WireWriter head;
  for (const std::int64_t size : tensor.shape.dims) head.integer(kTensorDims, size);
  head.integer(kTensorType, type_number(tensor.shape.dtype));
  head.bytes(kTensorName, of);
  head.raw_bytes(begun(kTensorRaw, tensor.shape.size_bytes()));
  initializers_.try_emplace(of, Initializer{head.take(), std::move(tensor)});
  return of;
}

std::string OnnxGraph::constant(float number) {
  char digits[32];  // enough digits that different numbers get different names
  std::snprintf(digits, sizeof digits, "%.9g", number);
  return constant(str("constant/", digits), held(compiler::DType::f32, {}, std::vector{number}));
}

std::string OnnxGraph::scalar(std::int64_t number) {
  return constant(str("constant/", number, "i"),
                  held(compiler::DType::s64, {}, std::vector{number}));
}

std::string OnnxGraph::constant(const std::vector<std::int64_t>& values) {
  std::string of = "constant/";
  for (const std::int64_t each : values) of += str("[", each, "]");
  return constant(of, held(compiler::DType::s64, {std::ssize(values)}, values));
}

std::string OnnxGraph::node(const std::string& op, const std::vector<std::string>& inputs,
                            const std::vector<OnnxAttribute>& attributes, std::string of) {
  if (of.empty()) of = str(op, "_", count_);
  ++count_;
  WireWriter out;
  for (const std::string& each : inputs) out.bytes(kNodeInput, each);
  out.bytes(kNodeOutput, of);
  out.bytes(kNodeName, of);
  out.bytes(kNodeOp, op);
  for (const OnnxAttribute& each : attributes) out.message(kNodeAttribute, attribute_message(each));
  nodes_.message(kGraphNode, out);
  return of;
}

std::uint64_t OnnxGraph::Initializer::bytes() const {
  return head.size() + tensor.shape.size_bytes();
}

std::uint64_t OnnxGraph::initializer_bytes() const {
  std::uint64_t all = 0;
  for (const auto& [of, each] : initializers_)
    all += begun(kGraphInitializer, each.bytes()).size() + each.bytes();
  return all;
}

std::uint64_t OnnxGraph::graph_bytes() const {
  WireWriter own;
  own.bytes(kGraphName, name_);
  return own.text().size() + nodes_.text().size() + inputs_.text().size() + outputs_.text().size() +
         initializer_bytes();
}

std::string OnnxGraph::head(const Properties& properties) const {
  WireWriter opset, out;
  opset.integer(kOpsetVersion, kOnnxOpset);
  out.integer(kModelIrVersion, kOnnxIrVersion);
  out.bytes(kModelProducer, "smelt");
  out.message(kModelOpset, opset);
  for (const auto& [of, text] : properties) {
    WireWriter pair;
    pair.bytes(kPropertyKey, of);
    pair.bytes(kPropertyValue, text);
    out.message(kModelProperty, pair);
  }
  out.raw_bytes(begun(kModelGraph, graph_bytes()));
  out.raw_bytes(nodes_.text());
  out.bytes(kGraphName, name_);
  out.raw_bytes(inputs_.text());
  out.raw_bytes(outputs_.text());
  return out.take();
}

std::uint64_t OnnxGraph::bytes(const Properties& properties) const {
  return head(properties).size() + initializer_bytes();
}

void OnnxGraph::write(const Properties& properties,
                      const std::function<void(std::string_view bytes)>& put) const {
  put(head(properties));
  for (const auto& [of, each] : initializers_) {
    put(begun(kGraphInitializer, each.bytes()));
    put(each.head);
    const std::vector<std::byte> values = each.tensor.read();
    CHECK(values.size() == each.tensor.shape.size_bytes(), of, " ", values.size());
    put({reinterpret_cast<const char*>(values.data()), values.size()});
  }
}

}  // namespace smelt::io
