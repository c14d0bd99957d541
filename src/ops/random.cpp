// Random bits by Philox-4x32-10 (Salmon et al. 2011), the same on every kind of device.
#include "ops/rules.h"

namespace smelt {

constinit const Op kRngBitGenerator{
    .name = "rng_bit_generator",
    .infer =
        [](const Node& node) {
          const Shape& state = node.inputs[0].shape();
          const Shape bits{node.attrs.dtype("dtype"), node.attrs.dims("dims")};
          if (state != Shape{DType::u64, {3}})
            throw UsageError(str("rng_bit_generator: the state is ", state, ", not ui64[3]"),
                             "give {key, counter low, counter high}");
          if (bits.dtype != DType::u32 && bits.dtype != DType::u64)
            throw UsageError(str("rng_bit_generator: bits as ", bits), "ask for ui32 or ui64");
          return std::vector<Shape>{state, bits};
        },
    .vjp = flat,
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.rng_bit_generator",
                         "rng_algorithm = #stablehlo<rng_algorithm PHILOX>");
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"32 bits",
               {{{DType::u64, {3}}, 0, 1e18}},
               [](Graph&, Inputs in) { return rng_bit_generator(in[0], {DType::u32, {3, 7}}); }},
              {"64 bits",
               {{{DType::u64, {3}}, 0, 1e18}},
               [](Graph&, Inputs in) { return rng_bit_generator(in[0], {DType::u64, {5}}); }},
              {"carry from the counter's low half", {}, [](Graph& g, Inputs) {
                 const std::vector<double> zeros{0, 0, 0}, key{7, 0, 0};
                 const Tensor all_ones = bitwise_not(constant(g, zeros, {DType::u64, {3}}));
                 const std::vector<double> mask{0, 1, 0};
                 const Tensor low = convert(constant(g, mask, {DType::u64, {3}}), DType::pred);
                 const Tensor state = select(low, all_ones, constant(g, key, {DType::u64, {3}}));
                 return rng_bit_generator(state, {DType::u32, {9}});
               }}};
        }};

std::vector<Tensor> rng_bit_generator(Tensor state, Shape bits) {
  return results_of(
      apply(kRngBitGenerator, {state}, {{"dtype", bits.dtype}, {"dims", bits.dims}}).node());
}

}  // namespace smelt
