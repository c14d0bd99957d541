// Row lookup by index and its transpose, scatter-add (an embedding and its gradient), and a batched
// lookup.
#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

Dims rows_dims(const Shape& table, const Shape& ids) {
  Dims dims = ids.dims;
  dims.insert(dims.end(), table.dims.begin() + 1, table.dims.end());
  return dims;
}

void check_table(const Node& node) {
  const Shape &table = node.inputs[0].shape(), &ids = node.inputs[1].shape();
  if (table.rank() < 1 || table.dims[0] < 1 || !is_integer(ids.dtype))
    throw UsageError(str(node.op->name, ": cannot index table ", table, " with ids ", ids),
                     "use a table of at least one row and integer ids");
}

// Returns the axes of the gathered result that come from within a row: ids.rank … ids.rank +
// table.rank - 2.
Dims window_axes(const Shape& table, const Shape& ids) {
  Dims axes;
  for (std::int64_t i = 1; i < table.rank(); ++i) axes.push_back(ids.rank() + i - 1);
  return axes;
}

Tensor last_row(Tensor table, Tensor ids) {
  return constant(ids.graph(), static_cast<double>(table.dim(0) - 1), ids.dtype());
}

}  // namespace

constinit const Op kGatherRows{
    .name = "gather_rows",
    .infer =
        [](const Node& node) {
          check_table(node);
          const Shape& table = node.inputs[0].shape();
          return std::vector<Shape>{{table.dtype, rows_dims(table, node.inputs[1].shape())}};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor table = node.inputs[0], ids = node.inputs[1];
          // gather clamps an id that is out of range; scatter would drop it.
          const Tensor clamped =
              clamp(constant(ids.graph(), 0, ids.dtype()), ids, last_row(table, ids));
          return Tensors{scatter_add_rows(zeros_like(table), clamped, cts[0]), {}};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          const Shape &table = node.inputs[0].shape(), &ids = node.inputs[1].shape();
          Dims sizes = table.dims;
          sizes[0] = 1;
          writer.generic(
              node, "stablehlo.gather",
              str("dimension_numbers = #stablehlo.gather<offset_dims = ",
                  hlo_list(window_axes(table, ids)),
                  ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = ",
                  ids.rank(), ">, indices_are_sorted = false, slice_sizes = ", hlo_dims(sizes)));
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"two axes of ids",
               {f64_input({5, 3}), s32_input({2, 4}, 0, 5)},
               [](Graph&, Inputs in) { return Tensors{gather_rows(in[0], in[1])}; }},
              {"out of range", {f64_input({5}), s32_input({6}, -3, 8)}, [](Graph&, Inputs in) {
                 return Tensors{gather_rows(in[0], in[1])};
               }}};
        }};

Tensor gather_rows(Tensor table, Tensor ids) { return apply(kGatherRows, {table, ids}); }

namespace {

// The shape rule and the lowering of gather_items and move_items.
std::vector<Shape> infer_items(const Node& node) {
  const Shape &x = node.inputs[0].shape(), &ids = node.inputs[1].shape();
  if (x.rank() < 2 || x.dims[1] < 1 || ids.rank() != 2 || ids.dims[0] != x.dims[0] ||
      !is_integer(ids.dtype))
    throw UsageError(str(node.op->name, ": cannot index items ", x, " with ids ", ids),
                     "use items [B,K,...] and integer ids [B,J]");
  Dims dims = x.dims;
  dims[1] = ids.dims[1];
  return std::vector<Shape>{{x.dtype, dims}};
}

void emit_items(const Node& node, HloWriter& writer) {
  const Shape& x = node.inputs[0].shape();
  Dims sizes = x.dims, within;
  sizes[0] = sizes[1] = 1;
  for (std::int64_t i = 2; i < x.rank(); ++i) within.push_back(i);
  writer.generic(node, "stablehlo.gather",
                 str("dimension_numbers = #stablehlo.gather<offset_dims = ", hlo_list(within),
                     ", collapsed_slice_dims = [1], operand_batching_dims = [0], "
                     "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = "
                     "2>, indices_are_sorted = false, slice_sizes = ",
                     hlo_dims(sizes)));
}

}  // namespace

constinit const Op kGatherItems{
    .name = "gather_items",
    .infer = infer_items,
    .vjp = nullptr,
    .emit = emit_items,
    .examples = [] {
      return std::vector<OpExample>{
          {"items of two axes",
           {f64_input({2, 4, 3}), s32_input({2, 5}, 0, 4)},
           [](Graph&, Inputs in) { return Tensors{gather_items(in[0], in[1])}; }},
          {"out of range", {f64_input({3, 2}), s32_input({3, 4}, -2, 4)}, [](Graph&, Inputs in) {
             return Tensors{gather_items(in[0], in[1])};
           }}};
    }};

Tensor gather_items(Tensor x, Tensor ids) { return apply(kGatherItems, {x, ids}); }

constinit const Op kMoveItems{
    .name = "move_items",
    .infer =
        [](const Node& node) {
          const Shape &x = node.inputs[0].shape(), &to = node.inputs[2].shape();
          if (x.rank() < 2 || to.dims != Dims{x.dims[0], x.dims[1]} || !is_integer(to.dtype))
            throw UsageError(str("move_items: cannot move items ", x, " back with ids ", to),
                             "use items [B,K,...] and integer ids [B,K]");
          return infer_items(node);
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          return Tensors{move_items(cts[0], node.inputs[2], node.inputs[1]), {}, {}};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.splice(node, [](Graph&, Inputs in) {
            const Tensor items = gather_items(in[0], in[1]);
            const Tensor moved = compare(in[1], zeros_like(in[1]), Compare::ge);
            return Tensors{
                select(broadcast_in_dim(moved, items.dims(), {0, 1}), items, zeros_like(items))};
          });
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"some items", {f64_input({2, 4, 3})}, [](Graph& graph, Inputs in) {
                 const std::vector<double> from{2, -1, 0, 3, 1, -1}, to{2, -1, 0, -1, -1, 1, -1, 0};
                 return Tensors{move_items(in[0], constant(graph, from, {DType::s32, {2, 3}}),
                                           constant(graph, to, {DType::s32, {2, 4}}))};
               }}};
        }};

Tensor move_items(Tensor x, Tensor from, Tensor to) { return apply(kMoveItems, {x, from, to}); }

constinit const Op kScatterAddRows{
    .name = "scatter_add_rows",
    .infer =
        [](const Node& node) {
          check_table(node);
          const Shape &table = node.inputs[0].shape(), &rows = node.inputs[2].shape();
          require_number("scatter_add_rows", table);
          require_equal("scatter_add_rows", {table.dtype, rows_dims(table, node.inputs[1].shape())},
                        rows);
          return same_as_first(node);
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor table = node.inputs[0], ids = node.inputs[1];
          const Tensor known = bitwise_and(compare(ids, zeros_like(ids), Compare::ge),
                                           compare(ids, last_row(table, ids), Compare::le));
          // A dropped row gets no gradient.
          const Tensor rows = gather_rows(cts[0], ids);
          Dims at;
          for (std::int64_t i = 0; i < ids.rank(); ++i) at.push_back(i);
          return Tensors{
              cts[0], {}, select(broadcast_in_dim(known, rows.dims(), at), rows, zeros_like(rows))};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          const Shape &table = node.inputs[0].shape(), &ids = node.inputs[1].shape();
          writer.generic(node, "stablehlo.scatter",
                         str("indices_are_sorted = false, scatter_dimension_numbers = "
                             "#stablehlo.scatter<update_window_dims = ",
                             hlo_list(window_axes(table, ids)),
                             ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
                             "index_vector_dim = ",
                             ids.rank(), ">, unique_indices = false"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"two axes of ids",
               {f64_input({5, 3}), s32_input({2, 4}, 0, 5), f64_input({2, 4, 3})},
               [](Graph&, Inputs in) { return Tensors{scatter_add_rows(in[0], in[1], in[2])}; }},
              {"out of range",
               {f64_input({5}), s32_input({6}, -3, 8), f64_input({6})},
               [](Graph&, Inputs in) { return Tensors{scatter_add_rows(in[0], in[1], in[2])}; }}};
        }};

Tensor scatter_add_rows(Tensor table, Tensor ids, Tensor rows) {
  return apply(kScatterAddRows, {table, ids, rows}, {}, {add_region(table.dtype())});
}

}  // namespace smelt::compiler
