#include "compress/mask_scales.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/table.h"
#include "compress/cholesky.h"
#include "model/nn/einsum.h"

namespace smelt::compress {
namespace {

constexpr double kLargest = 10;
// Relative ridge on the diagonal, on the order of f32 rounding.
constexpr double kRidge = 1e-5;
constexpr std::size_t kMostSums = std::size_t{1} << 25;  // doubles per pass
constexpr std::size_t kOutputs = 3;

// Returns the matmul of the graph that uses the parameter.
compiler::Tensor product_with(compiler::Tensor kernel, std::span<const compiler::Tensor> losses) {
  compiler::Tensor out;
  for (const compiler::Node* node : compiler::reachable(losses))
    if (node->op == &compiler::kDotGeneral && node->inputs[1] == kernel) {
      CHECK(!out, "two products with one matrix");
      out = compiler::Tensor(node, 0);
    }
  CHECK(out, kernel.shape());
  return out;
}

// Returns the row numbers of the kept units, s32 [K W].
compiler::Tensor kept_rows(compiler::Graph& graph, const ScaledProduct& product,
                           std::int64_t width) {
  std::vector<double> rows;
  for (const std::int64_t unit : product.kept)
    for (std::int64_t i = 0; i < width; ++i) rows.push_back(static_cast<double>(unit * width + i));
  return compiler::constant(graph, rows, {compiler::DType::s32, {std::ssize(rows)}});
}

// Adds the three outputs for one matmul. `mask` is the s32 [B,S] mask of the tokens.
void add_sums(const ScaledProduct& product, compiler::Tensor kernel, compiler::Tensor y,
              compiler::Tensor mask, std::vector<compiler::Tensor>& out) {
  const compiler::Tensor rows = y.node().inputs[0];
  const std::int64_t T = mask.shape().elements(), F = kernel.dim(0), H = kernel.dim(1);
  const std::int64_t K = std::ssize(product.kept), W = F / product.units;
  CHECK(rows.shape().elements() == T * F, rows.shape(), " ", mask.shape());
  const compiler::Tensor counts =
      compiler::reshape(compiler::convert(mask, compiler::DType::f32), {T, 1});
  const compiler::Tensor ids = kept_rows(kernel.graph(), product, W);
  const compiler::Tensor x = compiler::gather_rows(
      compiler::transpose(compiler::reshape(rows, {T, F}) * counts, {1, 0}), ids);  // [K W,T]
  const compiler::Tensor w = compiler::gather_rows(kernel, ids);                    // [K W,H]
  const compiler::Tensor whole = compiler::reshape(y, {T, H}) * counts;
  const compiler::Tensor gram = model::einsum("at,bt->ab", x, x) * model::einsum("ah,bh->ab", w, w);
  const compiler::Tensor onto = model::einsum("at,at->a", x, model::einsum("ah,th->at", w, whole));
  out.push_back(compiler::reduce_sum(compiler::reshape(gram, {K, W, K, W}), {1, 3}));
  out.push_back(compiler::reduce_sum(compiler::reshape(onto, {K, W}), {1}));
  out.push_back(compiler::reshape(compiler::reduce_sum(whole * whole, {0, 1}), {1}));
}

// Solves L L' x = b.
std::vector<double> solved(const std::vector<double>& l, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= l[i * n + k] * b[k];
    b[i] /= l[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= l[k * n + i] * b[k];
    b[i] /= l[i * n + i];
  }
  return b;
}

struct Sums {
  std::vector<double> gram, onto, all;
};

double lost_by(const Sums& sums, const std::vector<double>& s) {
  const std::size_t n = s.size();
  if (sums.all[0] == 0) return 0;
  double error = sums.all[0];
  for (std::size_t i = 0; i < n; ++i) {
    double row = -2 * sums.onto[i];
    for (std::size_t j = 0; j < n; ++j) row += sums.gram[i * n + j] * s[j];
    error += s[i] * row;
  }
  return std::max(error, 0.0) / sums.all[0];  // negative only by rounding
}

MaskScales scales_by(const Sums& sums) {
  const std::vector<double> ones(sums.onto.size(), 1);
  MaskScales out{.factors = ones, .lost_before = lost_by(sums, ones)};
  out.lost = out.lost_before;
  const auto found = least_squares(sums.gram, sums.onto);
  if (!found) return out;
  out.factors = *found;
  out.taken = true;
  out.lost = lost_by(sums, out.factors);
  return out;
}

std::vector<Sums> sums_of(const model::Task& task, const std::vector<ScaledProduct>& products,
                          const RowPass& pass) {
  std::vector<Sums> out;
  for (const ScaledProduct& product : products) {
    const std::size_t K = product.kept.size();
    out.push_back({std::vector<double>(K * K), std::vector<double>(K), std::vector<double>(1)});
  }
  run_on_rows(pass, product_sums(task, products),
              [&](std::size_t i, std::span<const float> values) {
                Sums& sums = out[i / kOutputs];
                std::vector<double>& to = i % kOutputs == 0   ? sums.gram
                                          : i % kOutputs == 1 ? sums.onto
                                                              : sums.all;
                for (std::size_t at = 0; at < to.size(); ++at) to[at] += values[at];
              });
  return out;
}

}  // namespace

model::Prediction product_sums(const model::Task& task,
                               const std::vector<ScaledProduct>& products) {
  CHECK(task.tells.has_value(), task.name);
  model::Prediction out;
  out.features = task.features;
  out.outputs = [task, products](const model::Scope& root, const model::Inputs& inputs) {
    model::ForwardOutputs forward;
    forward.stacks.resize(task.tells->sizes.stacks.size());
    std::vector<compiler::Tensor> losses, sums;
    for (const model::Metric& m : task.tells->objective(root, inputs, forward).losses)
      losses.push_back(m.sum);
    for (const ScaledProduct& product : products) {
      const compiler::Tensor kernel = root.shared(product.parameter);
      const bool is_decoder = product.parameter.starts_with("decoder/");
      add_sums(product, kernel, product_with(kernel, losses),
               forward.stacks.at(is_decoder ? 1 : 0).mask, sums);
    }
    return sums;
  };
  return out;
}

std::optional<std::vector<double>> least_squares(std::span<const double> gram,
                                                 std::span<const double> onto) {
  const std::size_t n = onto.size();
  CHECK(gram.size() == n * n, gram.size());
  // Solves for s - 1, so that the ridge pulls it to 0.
  std::vector<double> a(gram.begin(), gram.end()), b(onto.begin(), onto.end());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) b[i] -= gram[i * n + j];
    double& own = a[i * n + i];
    own = own > 0 ? own * (1 + kRidge) : 1;  // a unit without contribution
  }
  if (!cholesky(a, n, available_threads())) return std::nullopt;
  std::vector<double> s = solved(a, std::move(b));
  for (double& factor : s) factor += 1;
  const bool is_rescaling =
      std::ranges::all_of(s, [](double factor) { return std::abs(factor) <= kLargest; });
  return is_rescaling ? std::optional(std::move(s)) : std::nullopt;
}

std::vector<MaskScales> mask_scales(const model::Task& task,
                                    const std::vector<ScaledProduct>& products,
                                    const RowPass& pass) {
  std::vector<MaskScales> out;
  std::vector<ScaledProduct> together;
  std::size_t held = 0;
  const auto take = [&] {
    if (together.empty()) return;
    for (const Sums& sums : sums_of(task, together, pass)) out.push_back(scales_by(sums));
    together.clear();
    held = 0;
  };
  for (const ScaledProduct& product : products) {
    const std::size_t size = product.kept.size() * product.kept.size();
    if (held + size > kMostSums) take();
    together.push_back(product);
    held += size;
  }
  take();
  return out;
}

}  // namespace smelt::compress
