// Slices and padding, with static or dynamic starts.
#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

constexpr std::string_view kSliceHint = "choose 0 <= start <= limit <= dimension and stride >= 1";

void check_starts(const Node& node, std::size_t first) {
  const Shape& x = node.inputs[0].shape();
  if (node.inputs.size() - first != x.dims.size())
    throw UsageError(str(node.op->name, ": ", node.inputs.size() - first, " start indices for ", x,
                         ", expected ", x.dims.size()),
                     "pass one scalar per axis");
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    const Shape& start = node.inputs[i].shape();
    if (start.rank() != 0 || !is_integer(start.dtype) || start.dtype != node.inputs[first].dtype())
      throw UsageError(str(node.op->name, ": start index ", i - first, " is ", start,
                           ", expected an integer scalar"),
                       "use integer scalars of one type");
  }
}

void check_fits(std::string_view where, const Shape& x, const Dims& sizes) {
  bool fits = sizes.size() == x.dims.size();
  for (std::size_t i = 0; fits && i < sizes.size(); ++i)
    fits = sizes[i] >= 0 && sizes[i] <= x.dims[i];
  if (!fits)
    throw UsageError(str(where, ": a slice of size ", dims_text(sizes), " does not fit in ", x),
                     "choose sizes from 0 to the dimension");
}

Tensors joined(Tensors first, std::span<const Tensor> rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

std::span<const Tensor> starts_of(const Node& node, std::size_t first) {
  return std::span(node.inputs).subspan(first);
}

}  // namespace

constinit const Op kSlice{
    .name = "slice",
    .infer =
        [](const Node& node) {
          const Shape& x = node.inputs[0].shape();
          const Dims &start = node.attrs.dims("start"), &limit = node.attrs.dims("limit"),
                     &stride = node.attrs.dims("stride");
          Shape shape{x.dtype, {}};
          const std::size_t rank = x.dims.size();
          bool fits = start.size() == rank && limit.size() == rank && stride.size() == rank;
          for (std::size_t i = 0; fits && i < rank; ++i) {
            fits = start[i] >= 0 && start[i] <= limit[i] && limit[i] <= x.dims[i] && stride[i] >= 1;
            if (fits) shape.dims.push_back((limit[i] - start[i] + stride[i] - 1) / stride[i]);
          }
          if (!fits)
            throw UsageError(str("slice: start ", dims_text(start), ", limit ", dims_text(limit),
                                 ", stride ", dims_text(stride), " do not fit ", x),
                             kSliceHint);
          return std::vector<Shape>{shape};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Dims &low = node.attrs.dims("start"), &stride = node.attrs.dims("stride");
          Dims high, interior;
          for (std::size_t i = 0; i < low.size(); ++i) {
            const std::int64_t count = cts[0].dims()[i];
            const std::int64_t covered = count == 0 ? 0 : 1 + stride[i] * (count - 1);
            high.push_back(node.inputs[0].dims()[i] - low[i] - covered);
            interior.push_back(stride[i] - 1);
          }
          return Tensors{pad(cts[0], 0, low, high, interior)};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.slice",
                         str("limit_indices = ", hlo_dims(node.attrs.dims("limit")),
                             ", start_indices = ", hlo_dims(node.attrs.dims("start")),
                             ", strides = ", hlo_dims(node.attrs.dims("stride"))));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"f64", {f64_input({4, 7})}, [](Graph&, Inputs in) {
                                           return Tensors{slice(in[0], {1, 0}, {3, 7}),
                                                          slice(in[0], {0, 1}, {4, 7}, {3, 2}),
                                                          slice_axis(in[0], -1, 2, 5)};
                                         }}};
        }};

Tensor slice(Tensor x, const Dims& start, const Dims& limit, Dims stride) {
  if (stride.empty()) stride.assign(x.rank(), 1);
  return apply(kSlice, {x}, {{"start", start}, {"limit", limit}, {"stride", std::move(stride)}});
}

Tensor slice_axis(Tensor x, std::int64_t axis, std::int64_t start, std::int64_t limit) {
  const std::int64_t at = positive_axis("slice", axis, x.shape());
  Dims from(x.rank(), 0), to = x.dims();
  from[at] = start;
  to[at] = limit;
  return slice(x, from, to);
}

constinit const Op kPad{
    .name = "pad",
    .infer =
        [](const Node& node) {
          const Shape& x = node.inputs[0].shape();
          const Dims &low = node.attrs.dims("low"), &high = node.attrs.dims("high"),
                     &interior = node.attrs.dims("interior");
          Shape shape{x.dtype, {}};
          const std::size_t rank = x.dims.size();
          bool fits = low.size() == rank && high.size() == rank && interior.size() == rank;
          for (std::size_t i = 0; fits && i < rank; ++i) {
            const std::int64_t gaps = std::max<std::int64_t>(x.dims[i] - 1, 0);
            shape.dims.push_back(low[i] + x.dims[i] + gaps * interior[i] + high[i]);
            fits = interior[i] >= 0 && shape.dims[i] >= 0;
          }
          if (!fits)
            throw UsageError(str("pad: low ", dims_text(low), ", high ", dims_text(high),
                                 ", interior ", dims_text(interior), " do not fit ", x),
                             "pass one number per axis; result dimensions must not be negative");
          return std::vector<Shape>{shape};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          Dims low = node.attrs.dims("low"), high = node.attrs.dims("high"),
               stride = node.attrs.dims("interior");
          for (std::int64_t& n : low) n = -n;
          for (std::int64_t& n : high) n = -n;
          for (std::int64_t& n : stride) ++n;
          // Remove the padding at the edges (negative padding), then select the elements between
          // the gaps.
          const Tensor inner = pad(cts[0], 0, low, high);
          return Tensors{slice(inner, Dims(low.size(), 0), inner.dims(), stride), {}};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.pad",
                         str("edge_padding_high = ", hlo_dims(node.attrs.dims("high")),
                             ", edge_padding_low = ", hlo_dims(node.attrs.dims("low")),
                             ", interior_padding = ", hlo_dims(node.attrs.dims("interior"))));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"f64", {f64_input({2, 3})}, [](Graph&, Inputs in) {
                                           return Tensors{pad(in[0], 0.5, {1, 0}, {0, 2}),
                                                          pad(in[0], 0, {0, 1}, {1, 0}, {2, 1}),
                                                          pad(in[0], 0, {0, -1}, {1, 0})};
                                         }}};
        }};

Tensor pad(Tensor x, double value, const Dims& low, const Dims& high, Dims interior) {
  if (interior.empty()) interior.assign(x.rank(), 0);
  return apply(kPad, {x, constant(x.graph(), value, x.dtype())},
               {{"low", low}, {"high", high}, {"interior", std::move(interior)}});
}

constinit const Op kDynamicSlice{
    .name = "dynamic_slice",
    .infer =
        [](const Node& node) {
          check_starts(node, 1);
          check_fits("dynamic_slice", node.inputs[0].shape(), node.attrs.dims("sizes"));
          return std::vector<Shape>{{node.inputs[0].dtype(), node.attrs.dims("sizes")}};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const auto starts = starts_of(node, 1);
          Tensors out(node.inputs.size());
          out[0] = dynamic_update_slice(zeros_like(node.inputs[0]), cts[0],
                                        {starts.begin(), starts.end()});
          return out;
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.dynamic_slice",
                         "slice_sizes = " + hlo_dims(node.attrs.dims("sizes")));
        },
    .examples =
        [] {
          // Start indices that are too large are moved back so that the slice fits.
          return std::vector<OpExample>{
              {"f64",
               {f64_input({4, 5}), s32_input({}, 0, 3), s32_input({}, 3, 9)},
               [](Graph&, Inputs in) {
                 return Tensors{dynamic_slice(in[0], {in[1], in[2]}, {2, 3})};
               }}};
        }};

Tensor dynamic_slice(Tensor x, const std::vector<Tensor>& start, const Dims& sizes) {
  return apply(kDynamicSlice, joined({x}, start), {{"sizes", sizes}});
}

constinit const Op kDynamicUpdateSlice{
    .name = "dynamic_update_slice",
    .infer =
        [](const Node& node) {
          check_starts(node, 2);
          require_same_dtype("dynamic_update_slice", node.inputs[0].shape(),
                             node.inputs[1].shape());
          check_fits("dynamic_update_slice", node.inputs[0].shape(), node.inputs[1].dims());
          return same_as_first(node);
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor update = node.inputs[1];
          const auto starts = starts_of(node, 2);
          const Tensors at(starts.begin(), starts.end());
          Tensors out(node.inputs.size());
          out[0] = dynamic_update_slice(cts[0], zeros_like(update), at);
          out[1] = dynamic_slice(cts[0], at, update.dims());
          return out;
        },
    .emit = emit_as<"stablehlo.dynamic_update_slice">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"f64",
               {f64_input({4, 5}), f64_input({2, 3}), s32_input({}, 0, 3), s32_input({}, 3, 9)},
               [](Graph&, Inputs in) {
                 return Tensors{dynamic_update_slice(in[0], in[1], {in[2], in[3]})};
               }}};
        }};

Tensor dynamic_update_slice(Tensor x, Tensor update, const std::vector<Tensor>& start) {
  return apply(kDynamicUpdateSlice, joined({x, update}, start));
}

}  // namespace smelt::compiler
