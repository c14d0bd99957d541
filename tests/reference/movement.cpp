// Constants, ops that move elements, matmul, and gather and scatter of rows.
#include <algorithm>

#include "base/error.h"
#include "reference/interpreter.h"

namespace smelt::testing {

using compiler::Dims;
using compiler::dtype_size_bytes;
using compiler::Node;
using compiler::Shape;
namespace {

using Values = std::vector<Value>;

Values constant(const Node& node, const Values&) {
  const Shape& shape = node.results[0];
  const auto& bytes = node.attrs.bytes("bytes");
  const std::size_t size = dtype_size_bytes(shape.dtype);
  std::vector<std::byte> all(shape.size_bytes());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = bytes.size() == size ? bytes[i % size] : bytes[i];
  return {from_bytes(shape, all)};
}

Values iota(const Node& node, const Values&) {
  Value out = empty_value(node.results[0]);
  const std::int64_t axis = node.attrs.integer("axis");
  for_each_index(out.shape.dims, [&](const Dims& index, std::int64_t at) {
    if (out.is_real())
      out.real[at] = static_cast<double>(index[axis]);
    else
      out.bits[at] = static_cast<std::uint64_t>(index[axis]);
  });
  return {out};
}

// Returns out with out[index] = in[source(index)].
template <class Source>
Value moved(const Value& in, Dims dims, Source source) {
  Value out = empty_value({in.shape.dtype, std::move(dims)});
  for_each_index(out.shape.dims, [&](const Dims& index, std::int64_t at) {
    copy_element(in, position(in.shape.dims, source(index)), out, at);
  });
  return out;
}

Values reshape(const Node& node, const Values& in) {
  Value out = in[0];
  out.shape.dims = node.attrs.dims("dims");
  return {out};
}

Values transpose(const Node& node, const Values& in) {
  const Dims& permutation = node.attrs.dims("permutation");
  Dims dims;
  for (const auto axis : permutation) dims.push_back(in[0].shape.dims[axis]);
  return {moved(in[0], dims, [&](const Dims& index) {
    Dims from(index.size());
    for (std::size_t i = 0; i < index.size(); ++i) from[permutation[i]] = index[i];
    return from;
  })};
}

Values broadcast_in_dim(const Node& node, const Values& in) {
  const Dims& at = node.attrs.dims("broadcast_dims");
  return {moved(in[0], node.attrs.dims("dims"), [&](const Dims& index) {
    Dims from(at.size());
    for (std::size_t i = 0; i < at.size(); ++i)
      from[i] = in[0].shape.dims[i] == 1 ? 0 : index[at[i]];
    return from;
  })};
}

Values reverse(const Node& node, const Values& in) {
  const Dims& dims = in[0].shape.dims;
  return {moved(in[0], dims, [&](Dims index) {
    for (const auto axis : node.attrs.dims("axes")) index[axis] = dims[axis] - 1 - index[axis];
    return index;
  })};
}

Values slice(const Node& node, const Values& in) {
  const Dims &start = node.attrs.dims("start"), &limit = node.attrs.dims("limit"),
             &stride = node.attrs.dims("stride");
  Dims dims;
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::int64_t count = 0;
    for (std::int64_t j = start[i]; j < limit[i]; j += stride[i]) ++count;
    dims.push_back(count);
  }
  return {moved(in[0], dims, [&](Dims index) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = start[i] + index[i] * stride[i];
    return index;
  })};
}

// Returns the start indices of a dynamic op, clamped so that `sizes` fits into `dims`.
Dims starts(const Values& in, std::size_t first, const Dims& dims, const Dims& sizes) {
  Dims out;
  for (std::size_t i = 0; i < dims.size(); ++i)
    out.push_back(std::clamp<std::int64_t>(in[first + i].integer(), 0, dims[i] - sizes[i]));
  return out;
}

Dims sum(Dims a, const Dims& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Values dynamic_slice(const Node& node, const Values& in) {
  const Dims& sizes = node.attrs.dims("sizes");
  const Dims start = starts(in, 1, in[0].shape.dims, sizes);
  return {moved(in[0], sizes, [&](const Dims& index) { return sum(index, start); })};
}

Values dynamic_update_slice(const Node&, const Values& in) {
  Value out = in[0];
  const Dims start = starts(in, 2, in[0].shape.dims, in[1].shape.dims);
  for_each_index(in[1].shape.dims, [&](const Dims& index, std::int64_t at) {
    copy_element(in[1], at, out, position(out.shape.dims, sum(index, start)));
  });
  return {out};
}

Values pad(const Node& node, const Values& in) {
  const Dims &low = node.attrs.dims("low"), &interior = node.attrs.dims("interior");
  Value out = empty_value(node.results[0]);
  for (std::int64_t i = 0; i < out.size(); ++i) copy_element(in[1], 0, out, i);
  for_each_index(in[0].shape.dims, [&](Dims index, std::int64_t at) {
    bool inside = true;
    for (std::size_t i = 0; i < index.size(); ++i) {
      index[i] = low[i] + index[i] * (interior[i] + 1);
      inside = inside && index[i] >= 0 && index[i] < out.shape.dims[i];
    }
    if (inside) copy_element(in[0], at, out, position(out.shape.dims, index));
  });
  return {out};
}

Values concatenate(const Node& node, const Values& in) {
  const std::int64_t axis = node.attrs.integer("axis");
  Dims dims = in[0].shape.dims;
  dims[axis] = 0;
  for (const Value& value : in) dims[axis] += value.shape.dims[axis];
  Value out = empty_value({in[0].shape.dtype, dims});
  std::int64_t offset = 0;
  for (const Value& value : in) {
    for_each_index(value.shape.dims, [&](Dims index, std::int64_t at) {
      index[axis] += offset;
      copy_element(value, at, out, position(dims, index));
    });
    offset += value.shape.dims[axis];
  }
  return {out};
}

// Returns the first replica's result, for inputs that are equal on all replicas.
Values all_gather(const Node& node, const Values& in) {
  return concatenate(node, Values(node.attrs.integer("replicas"), in[0]));
}

Values all_to_all(const Node& node, const Values& in) {
  const std::int64_t replicas = node.attrs.integer("replicas");
  const std::int64_t split = node.attrs.integer("split_axis"),
                     joined = node.attrs.integer("concat_axis");
  Dims part = in[0].shape.dims;
  part[split] /= replicas;
  Dims dims = part;
  dims[joined] *= replicas;
  return {moved(in[0], dims, [&](Dims index) {
    index[joined] %= part[joined];
    return index;
  })};
}

// Writes the next elements of `index`, beginning at `from`, to these axes of `full`, and advances
// `from`.
void place(Dims& full, const Dims& axes, const Dims& index, std::size_t& from) {
  for (const auto axis : axes) full[axis] = index[from++];
}

Dims free_axes(const Value& x, const Dims& batch, const Dims& contract) {
  Dims out;
  for (std::int64_t i = 0; i < x.shape.rank(); ++i)
    if (std::count(batch.begin(), batch.end(), i) +
            std::count(contract.begin(), contract.end(), i) ==
        0)
      out.push_back(i);
  return out;
}

Values dot_general(const Node& node, const Values& in) {
  const Dims &batch_a = node.attrs.dims("batch_a"), &batch_b = node.attrs.dims("batch_b"),
             &contract_a = node.attrs.dims("contract_a"),
             &contract_b = node.attrs.dims("contract_b");
  const Dims free_a = free_axes(in[0], batch_a, contract_a),
             free_b = free_axes(in[1], batch_b, contract_b);
  Dims dims, inner;
  for (const auto axis : batch_a) dims.push_back(in[0].shape.dims[axis]);
  for (const auto axis : free_a) dims.push_back(in[0].shape.dims[axis]);
  for (const auto axis : free_b) dims.push_back(in[1].shape.dims[axis]);
  for (const auto axis : contract_a) inner.push_back(in[0].shape.dims[axis]);
  Value out = empty_value({node.attrs.dtype("dtype"), dims});
  for_each_index(dims, [&](const Dims& index, std::int64_t at) {
    Dims a(in[0].shape.rank()), b(in[1].shape.rank());
    std::size_t next = 0;
    place(a, batch_a, index, next);
    place(a, free_a, index, next);
    place(b, free_b, index, next);
    next = 0;
    place(b, batch_b, index, next);
    for_each_index(inner, [&](const Dims& k, std::int64_t) {
      next = 0;
      place(a, contract_a, k, next);
      next = 0;
      place(b, contract_b, k, next);
      const auto x = position(in[0].shape.dims, a), y = position(in[1].shape.dims, b);
      if (out.is_real())
        out.real[at] += in[0].real[x] * in[1].real[y];
      else
        out.bits[at] =
            wrapped(out.shape.dtype,
                    out.bits[at] + static_cast<std::uint64_t>(in[0].integer(x) * in[1].integer(y)));
    });
  });
  return {out};
}

Values gather_rows(const Node&, const Values& in) {
  const Value &table = in[0], &ids = in[1];
  const std::int64_t rows = table.shape.dims[0], width = table.size() / rows;
  Dims dims = ids.shape.dims;
  dims.insert(dims.end(), table.shape.dims.begin() + 1, table.shape.dims.end());
  Value out = empty_value({table.shape.dtype, dims});
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const std::int64_t row = std::clamp<std::int64_t>(ids.integer(i), 0, rows - 1);
    for (std::int64_t j = 0; j < width; ++j)
      copy_element(table, row * width + j, out, i * width + j);
  }
  return {out};
}

Values gather_items(const Node&, const Values& in) {
  const Value &x = in[0], &ids = in[1];
  const std::int64_t B = x.shape.dims[0], K = x.shape.dims[1], J = ids.shape.dims[1];
  const std::int64_t width = x.size() / (B * K);
  Dims dims = x.shape.dims;
  dims[1] = J;
  Value out = empty_value({x.shape.dtype, dims});
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const std::int64_t item = i / J * K + std::clamp<std::int64_t>(ids.integer(i), 0, K - 1);
    for (std::int64_t j = 0; j < width; ++j) copy_element(x, item * width + j, out, i * width + j);
  }
  return {out};
}

Values move_items(const Node& node, const Values& in) {
  Value out = gather_items(node, in)[0];
  const std::int64_t width = out.size() / in[1].size();
  const Value zeros = empty_value(out.shape);
  for (std::int64_t i = 0; i < in[1].size(); ++i)
    if (in[1].integer(i) < 0)
      for (std::int64_t j = 0; j < width; ++j)
        copy_element(zeros, i * width + j, out, i * width + j);
  return {out};
}

Values scatter_add_rows(const Node&, const Values& in) {
  Value out = in[0];
  CHECK(out.is_real());
  const std::int64_t rows = out.shape.dims[0], width = out.size() / rows;
  for (std::int64_t i = 0; i < in[1].size(); ++i) {
    const std::int64_t row = in[1].integer(i);
    if (row < 0 || row >= rows) continue;
    for (std::int64_t j = 0; j < width; ++j) out.real[row * width + j] += in[2].real[i * width + j];
  }
  return {out};
}

}  // namespace

Rules movement_rules() {
  return {{"constant", constant},
          {"iota", iota},
          {"reshape", reshape},
          {"transpose", transpose},
          {"broadcast_in_dim", broadcast_in_dim},
          {"reverse", reverse},
          {"slice", slice},
          {"dynamic_slice", dynamic_slice},
          {"dynamic_update_slice", dynamic_update_slice},
          {"pad", pad},
          {"concatenate", concatenate},
          {"all_gather", all_gather},
          {"all_to_all", all_to_all},
          {"dot_general", dot_general},
          {"gather_rows", gather_rows},
          {"gather_items", gather_items},
          {"move_items", move_items},
          {"scatter_add_rows", scatter_add_rows}};
}

}  // namespace smelt::testing
