#include "checkpoint/interop/onnx_encoder.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/storage/lazy_files.h"
#include "model/models/encoder.h"
#include "model/nn/layers.h"

namespace smelt::checkpoint {
namespace {

using Ints = std::vector<std::int64_t>;

// Transposes s8 [R,C] to [C,R].
io::LazyTensor turned(const io::LazyTensor& codes) {
  const auto R = static_cast<std::size_t>(codes.shape.dims[0]),
             C = static_cast<std::size_t>(codes.shape.dims[1]);
  return {{compiler::DType::s8, {codes.shape.dims[1], codes.shape.dims[0]}}, [codes, R, C] {
            const std::vector<std::byte> given = codes.read();
            std::vector<std::byte> out(given.size());
            for (std::size_t r = 0; r < R; ++r)
              for (std::size_t c = 0; c < C; ++c) out[c * R + r] = given[r * C + c];
            return out;
          }};
}

constexpr std::byte kZeroCode{128};

// Returns s8 values as u8 with a zero point of 128. Both sides of an integer matmul are u8:
// onnxruntime's matmuls of u8 or s8 by s8 saturate in sums of two terms on x86 processors without
// VNNI; those of u8 by u8 are exact everywhere.
io::LazyTensor unsigned_codes(const io::LazyTensor& codes) {
  return {{compiler::DType::u8, codes.shape.dims}, [codes] {
            std::vector<std::byte> out = codes.read();
            for (std::byte& code : out) code ^= kZeroCode;
            return out;
          }};
}

// Returns zero points, u8 [count] or a scalar.
io::LazyTensor zero_codes(const std::vector<std::int64_t>& dims) {
  const auto count = static_cast<std::size_t>(dims.empty() ? 1 : dims[0]);
  return {{compiler::DType::u8, dims},
          [count] { return std::vector<std::byte>(count, kZeroCode); }};
}

io::LazyTensor scalar_of(const io::LazyTensor& one) {
  return {{compiler::DType::f32, {}}, one.read};
}

}  // namespace

const io::LazyTensor& OnnxEncoder::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw UsageError(str(where_, ": tensor '", name, "' is missing"),
                     "use the folder of a BERT, an ELECTRA or a T5");
  return found->second;
}

std::string OnnxEncoder::floats(const std::string& name) {
  return graph_.constant(name, as_dtype(tensor(name), compiler::DType::f32));
}

std::string OnnxEncoder::norm(const std::string& scope, const std::string& x, double epsilon) {
  std::vector<std::string> inputs{x, floats(scope + "/gamma")};
  if (tensors_.contains(scope + "/beta")) inputs.push_back(floats(scope + "/beta"));
  return graph_.node("LayerNormalization", inputs,
                     {{"axis", -1}, {"epsilon", static_cast<float>(epsilon)}}, scope);
}

// Selects rows of an int8 table together with their scales.
std::string OnnxEncoder::rows(const std::string& table, const std::string& op,
                              const std::vector<std::string>& which) {
  const auto taken = [&](const std::string& from) {
    std::vector<std::string> inputs{from};
    inputs.insert(inputs.end(), which.begin(), which.end());
    return graph_.node(op, inputs);
  };
  const io::LazyTensor& of = tensor(table);
  if (!of.codes) return taken(floats(table));
  io::LazyTensor scales = of.codes->scales;
  scales.shape.dims = {of.shape.dims[0], 1};
  const std::string codes = taken(graph_.constant(table + "/codes", of.codes->codes));
  return graph_.node("Mul", {graph_.node("Cast", {codes}, {{"to", 1}}),
                             taken(graph_.constant(table + "/scales", scales))});
}

std::string OnnxEncoder::embeddings(const std::string& scope, const model::BertConfig& c,
                                    const Inputs& in) {
  const std::string s = scope + "/embeddings";
  const std::string length = graph_.node("Shape", {in.ids}, {{"start", 1}, {"end", 2}});
  const auto first_rows = [&](const char* table, std::int64_t begin, const std::string& end) {
    return rows(str(s, "/", table), "Slice",
                {graph_.constant(Ints{begin}), end, graph_.constant(Ints{0})});
  };
  const std::int64_t offset = c.position_offset;
  const std::string words = rows(s + "/word_embeddings", "Gather", {in.ids}),
                    types = c.reads_segments
                                ? rows(s + "/token_type_embeddings", "Gather", {in.types})
                                : first_rows("token_type_embeddings", 0, graph_.constant(Ints{1})),
                    end = offset == 0 ? length
                                      : graph_.node("Add", {length, graph_.constant(Ints{offset})}),
                    positions = first_rows("position_embeddings", offset, end);
  const std::string sum = graph_.node("Add", {graph_.node("Add", {words, types}), positions});
  return norm(s + "/LayerNorm", sum, c.layer_norm_eps);
}

// Adds an integer matmul with dynamically quantized rows. Sums are exact integers, scaled in f32,
// as in model/nn/layers.cpp.
std::string OnnxEncoder::integer_product(const std::string& kernel, const io::LazyCodes& codes,
                                         const std::string& x) {
  const std::string most =
      graph_.node("ReduceMax", {graph_.node("Abs", {x})}, {{"axes", Ints{-1}}, {"keepdims", 1}});
  const std::string scale = graph_.node(
      "Max", {graph_.node("Div", {most, graph_.constant(127.0F)}), graph_.constant(0x1p-23F)});
  const std::string rounded = graph_.node("Round", {graph_.node("Div", {x, scale})});
  const std::string shifted = graph_.node("Add", {rounded, graph_.constant(128.0F)});
  const std::string zero = graph_.constant("constant/zero_code", zero_codes({}));
  const std::string sums = graph_.node(
      "MatMulInteger",
      {graph_.node("Cast", {shifted}, {{"to", 2}}),
       graph_.constant(kernel + "/codes", unsigned_codes(turned(codes.codes))), zero, zero});
  const std::string scaled = graph_.node("Mul", {graph_.node("Cast", {sums}, {{"to", 1}}), scale});
  return graph_.node("Mul", {scaled, graph_.constant(kernel + "/scales", codes.scales)});
}

std::string OnnxEncoder::product(const std::string& kernel, const std::string& x) {
  const io::LazyTensor& of = tensor(kernel);
  if (!of.codes) return graph_.node("MatMul", {x, floats(kernel)});
  if (of.codes->of_rows && !of.codes->input_scale) return integer_product(kernel, *of.codes, x);
  const io::LazyTensor codes = turned(of.codes->codes);
  const std::string scales = graph_.constant(kernel + "/scales", of.codes->scales);
  if (!of.codes->input_scale)
    return graph_.node(
        "MatMul",
        {x, graph_.node("DequantizeLinear", {graph_.constant(kernel + "/codes", codes), scales},
                        {{"axis", 1}})});
  const std::string scale =
      graph_.constant(kernel + "/input_scale", scalar_of(*of.codes->input_scale));
  const std::string zero = graph_.constant("constant/zero_code", zero_codes({}));
  const std::string rows = graph_.node(
      "DequantizeLinear", {graph_.node("QuantizeLinear", {x, scale, zero}), scale, zero});
  const std::string weights = graph_.node(
      "DequantizeLinear",
      {graph_.constant(kernel + "/codes", unsigned_codes(codes)), scales,
       graph_.constant(kernel + "/zero_codes", zero_codes({of.codes->codes.shape.dims[0]}))},
      {{"axis", 1}});
  return graph_.node("MatMul", {rows, weights});
}

std::string OnnxEncoder::dense(const std::string& scope, const std::string& x) {
  const std::string out = product(scope + "/kernel", x);
  if (!tensors_.contains(scope + "/bias")) return out;
  return graph_.node("Add", {out, floats(scope + "/bias")}, {}, scope);
}

std::string OnnxEncoder::turned_dense(const std::string& matrix, const std::string& bias,
                                      const std::string& x) {
  const std::string kernel = graph_.node("Transpose", {floats(matrix)}, {{"perm", Ints{1, 0}}});
  return graph_.node("Add", {graph_.node("MatMul", {x, kernel}), floats(bias)});
}

std::string OnnxEncoder::activated(const std::string& name, const std::string& x,
                                   model::Gelu gelu) {
  const auto times = [&](const std::string& a, double b) {
    return graph_.node("Mul", {a, graph_.constant(static_cast<float>(b))});
  };
  if (name == "linear") return x;
  if (name == "relu") return graph_.node("Relu", {x});
  if (name == "tanh") return graph_.node("Tanh", {x});
  const bool by_erf = name == model::kGeluErf || gelu == model::Gelu::erf;
  CHECK(name == "gelu" || by_erf, name);
  std::string bent;
  if (by_erf) {
    bent = graph_.node("Erf", {times(x, std::numbers::sqrt2 / 2)});
  } else {
    const std::string cube = graph_.node("Mul", {graph_.node("Mul", {x, x}), x});
    const std::string inner = graph_.node("Add", {x, times(cube, 0.044715)});
    bent = graph_.node("Tanh", {times(inner, std::sqrt(2 / std::numbers::pi))});
  }
  const std::string one_more = graph_.node("Add", {bent, graph_.constant(1.0F)});
  return graph_.node("Mul", {times(x, 0.5), one_more});
}

std::string OnnxEncoder::first(const std::string& x) {
  return graph_.node("Gather", {x, graph_.scalar(0)}, {{"axis", 1}});
}

std::string OnnxEncoder::attention(const std::string& s, const model::BertConfig& c,
                                   const std::string& x, const std::string& mask) {
  const std::int64_t D = model::head_width(c), N = tensor(s + "/query/kernel").shape.dims[1] / D;
  const auto heads = [&](const char* part, const Ints& order) {
    const std::string split =
        graph_.node("Reshape", {dense(str(s, "/", part), x), graph_.constant(Ints{0, 0, N, D})});
    return graph_.node("Transpose", {split}, {{"perm", order}});
  };
  const std::string q = heads("query", {0, 2, 1, 3}), k = heads("key", {0, 2, 3, 1}),
                    v = heads("value", {0, 2, 1, 3});
  const std::string scores =
      graph_.node("Mul", {graph_.node("MatMul", {q, k}),
                          graph_.constant(static_cast<float>(1 / std::sqrt(double(D))))});
  const std::string weights =
      graph_.node("Softmax", {graph_.node("Add", {scores, mask})}, {{"axis", -1}});
  const std::string context =
      graph_.node("Transpose", {graph_.node("MatMul", {weights, v})}, {{"perm", Ints{0, 2, 1, 3}}});
  return graph_.node("Reshape", {context, graph_.constant(Ints{0, 0, N * D})});
}

std::string OnnxEncoder::output_block(const std::string& s, const model::BertConfig& c,
                                      const std::string& x, const std::string& residual) {
  return norm(s + "/LayerNorm", graph_.node("Add", {dense(s + "/dense", x), residual}),
              c.layer_norm_eps);
}

std::string OnnxEncoder::key_bias(const std::string& mask) {
  const std::string wide = graph_.node("Unsqueeze", {mask, graph_.constant(Ints{1, 2})});
  const std::string hidden =
      graph_.node("Sub", {graph_.constant(1.0F), graph_.node("Cast", {wide}, {{"to", 1}})});
  return graph_.node("Mul", {hidden, graph_.constant(static_cast<float>(model::kMaskedScore))});
}

std::string OnnxEncoder::encoded(const std::string& scope, const model::BertConfig& c,
                                 const Inputs& in) {
  std::string x = embeddings(scope, c, in);
  if (tensors_.contains(scope + "/embeddings_project/kernel"))
    x = dense(scope + "/embeddings_project", x);
  const std::string mask = key_bias(in.mask);
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) {
    const std::string s = str(scope, "/encoder/layer_", i);
    const std::string a =
        output_block(s + "/attention/output", c, attention(s + "/attention/self", c, x, mask), x);
    const std::string f = activated(c.hidden_act, dense(s + "/intermediate/dense", a), c.gelu);
    x = output_block(s + "/output", c, f, a);
  }
  return x;
}

}  // namespace smelt::checkpoint
