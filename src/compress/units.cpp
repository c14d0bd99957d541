#include "compress/units.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "checkpoint/interop/cut_heads.h"
#include "checkpoint/storage/lazy_files.h"
#include "compress/product_inputs.h"
#include "compress/scaled_tensor.h"

namespace smelt::compress {
namespace {

bool is_encoder(const LayerStack& stack) { return stack.field == "num_hidden_layers"; }

const compiler::Shape& shape_of(const CompressedFolder& folder, const std::string& name) {
  const auto found = folder.tensors.find(name);
  CHECK(found != folder.tensors.end() && found->second.shape.rank() == 2, name);
  return found->second.shape;
}

// Returns the target of an encoder's matmul.
PruneTarget encoder_product(const CompressedFolder& folder, const LayerStack& stack,
                            std::int64_t layer, const checkpoint::LayerModules::Units& units) {
  const std::string at = str(stack.prefix, layer, ".");
  PruneTarget out{.what = str("layer ", layer, " ", units.output),
                  .output = str(at, units.output, ".weight"),
                  .inputs = {},
                  .parts = units.parts,
                  .parameter = kernel_of(at + units.output),
                  .layer = layer};
  for (const std::string& name : units.inputs)
    for (const char* part : {".weight", ".bias"})
      if (const std::string full = str(at, name, part); folder.tensors.contains(full))
        out.inputs.push_back(full);
  return out;
}

// Returns the target of a T5 matmul. smelt's name of "encoder.block.3.layer.1" is
// "encoder/block_3/layer_001".
PruneTarget t5_product(const CompressedFolder& folder, const LayerStack& stack, std::int64_t layer,
                       int part, const std::string& block, const std::string& output,
                       const std::vector<std::string>& inputs) {
  const std::string at = str(stack.prefix, layer, ".layer.", part, ".", block, ".");
  const std::string side = stack.prefix.substr(0, stack.prefix.find('.'));
  const bool is_kernel = block == "DenseReluDense";
  PruneTarget out{.what = str(side, " layer ", layer, " ", block),
                  .output = str(at, output, ".weight"),
                  .inputs = {},
                  .parameter = str(side, "/block_", layer, "/layer_00", part, "/", block, "/",
                                   output, is_kernel ? "/kernel" : ""),
                  .layer = layer,
                  .of_decoder = side == "decoder"};
  for (const std::string& name : inputs)
    if (const std::string full = str(at, name, ".weight"); folder.tensors.contains(full))
      out.inputs.push_back(full);
  return out;
}

// Selects `width` rows (or columns) of a matrix, or elements of a vector, for each kept unit.
io::LazyTensor selected(const io::LazyTensor& tensor, std::vector<std::int64_t> kept,
                        std::int64_t width, bool columns) {
  const compiler::Dims& dims = tensor.shape.dims;
  const std::size_t item = compiler::dtype_size_bytes(tensor.shape.dtype);
  const std::int64_t rows = columns ? dims.at(0) : 1;
  const std::int64_t behind = columns || dims.size() == 1 ? 1 : dims.at(1);
  compiler::Shape shape = tensor.shape;
  shape.dims[columns ? 1 : 0] = std::ssize(kept) * width;
  const auto run = static_cast<std::size_t>(width * behind) * item;
  return {shape, [read = tensor.read, kept = std::move(kept), shape, rows, run] {
            const std::vector<std::byte> given = read();
            std::vector<std::byte> out;
            out.reserve(shape.size_bytes());
            const std::size_t row = given.size() / static_cast<std::size_t>(rows);
            for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
              for (const std::int64_t unit : kept) {
                const auto* at = given.data() + r * row + static_cast<std::size_t>(unit) * run;
                out.insert(out.end(), at, at + run);
              }
            return out;
          }};
}

}  // namespace

std::vector<PruneGroup> of_layers(std::vector<PruneGroup> groups,
                                  const std::vector<std::vector<std::int64_t>>& kept_layers) {
  for (PruneGroup& group : groups)
    std::erase_if(group.products, [&](const PruneTarget& product) {
      const auto& kept = kept_layers.at(product.of_decoder ? 1 : 0);
      return std::ranges::find(kept, product.layer) == kept.end();
    });
  std::erase_if(groups, [](const PruneGroup& group) { return group.products.empty(); });
  return groups;
}

std::vector<PruneGroup> ffn_groups(const CompressedFolder& folder,
                                   const std::vector<LayerStack>& stacks) {
  std::vector<PruneGroup> out;
  for (const LayerStack& stack : stacks) {
    const int part = stack.prefix.starts_with("decoder") ? 2 : 1;
    for (std::int64_t i = 0; i < stack.layers; ++i) {
      PruneTarget product =
          is_encoder(stack)
              ? encoder_product(folder, stack, i, stack.modules.neurons)
              : t5_product(folder, stack, i, part, "DenseReluDense", "wo", {"wi", "wi_0", "wi_1"});
      const std::int64_t units = shape_of(folder, product.output).dims[1];
      out.push_back({.products = {std::move(product)}, .units = units});
    }
  }
  return out;
}

static std::vector<PruneGroup> encoder_head_groups(const CompressedFolder& folder,
                                                   const LayerStack& stack) {
  const Json& c = folder.config;
  const std::int64_t heads = c.at("num_attention_heads"), hidden = c.at("hidden_size");
  std::vector<PruneGroup> out;
  for (std::int64_t i = 0; i < stack.layers; ++i)
    out.push_back({.products = {encoder_product(folder, stack, i, stack.modules.heads)},
                   .units = std::ssize(checkpoint::remaining_heads(c, i)),
                   .width = hidden / heads});
  return out;
}

std::vector<PruneGroup> head_groups(const CompressedFolder& folder,
                                    const std::vector<LayerStack>& stacks) {
  if (is_encoder(stacks.front())) return encoder_head_groups(folder, stacks.front());
  const std::int64_t heads = folder.config.at("num_heads"), width = folder.config.at("d_kv");
  const auto attention = [&](const LayerStack& stack, std::int64_t i, int part, const char* name) {
    return t5_product(folder, stack, i, part, name, "o", {"q", "k", "v"});
  };
  std::vector<PruneGroup> out;
  for (const LayerStack& stack : stacks) {
    PruneGroup own{
        .products = {},
        .units = heads,
        .width = width,
        .table = stack.prefix + "0.layer.0.SelfAttention.relative_attention_bias.weight"};
    for (std::int64_t i = 0; i < stack.layers; ++i)
      own.products.push_back(attention(stack, i, 0, "SelfAttention"));
    out.push_back(std::move(own));
    if (stack.prefix.starts_with("decoder"))
      for (std::int64_t i = 0; i < stack.layers; ++i)
        out.push_back({.products = {attention(stack, i, 1, "EncDecAttention")},
                       .units = heads,
                       .width = width});
  }
  return out;
}

std::int64_t width_for(double share, std::int64_t units, std::int64_t step) {
  const double wanted = share * static_cast<double>(units);
  while (step > 1 && static_cast<double>(step) > wanted) step /= 2;
  const auto steps = std::llround(wanted / static_cast<double>(step));
  return std::clamp<std::int64_t>(steps * step, 1, units);
}

std::int64_t step_within(std::int64_t units, std::int64_t step) {
  while (step > 1 && 2 * step > units) step /= 2;
  return step;
}

std::vector<std::int64_t> largest(const std::vector<double>& values, std::int64_t count) {
  CHECK(count >= 0 && count <= std::ssize(values), count, " of ", values.size());
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  order.resize(static_cast<std::size_t>(count));
  std::ranges::sort(order);
  return order;
}

void scale_units(CompressedFolder& folder, const PruneGroup& group, const PruneTarget& product,
                 const std::vector<double>& factors) {
  io::LazyTensor& tensor = folder.tensors.at(product.output);
  std::vector<float> column_factors;
  for (const double factor : factors)
    column_factors.insert(column_factors.end(), static_cast<std::size_t>(group.width),
                          static_cast<float>(factor));
  tensor = with_scaled_columns(tensor, std::move(column_factors));
}

void keep_units(CompressedFolder& folder, const PruneGroup& group,
                const std::vector<std::int64_t>& kept) {
  const auto cut = [&](const std::string& name, std::int64_t width, bool columns,
                       std::int64_t parts = 1) {
    io::LazyTensor& tensor = folder.tensors.at(name);
    CHECK(tensor.shape.dims[columns ? 1 : 0] == parts * group.units * width, name, " ",
          tensor.shape);
    std::vector<std::int64_t> of_all_parts;
    for (std::int64_t part = 0; part < parts; ++part)
      for (const std::int64_t unit : kept) of_all_parts.push_back(part * group.units + unit);
    tensor = selected(tensor, std::move(of_all_parts), width, columns);
  };
  for (const PruneTarget& product : group.products) {
    cut(product.output, group.width, true);
    for (const std::string& name : product.inputs) cut(name, group.width, false, product.parts);
  }
  if (!group.table.empty()) cut(group.table, 1, true);
}

}  // namespace smelt::compress
