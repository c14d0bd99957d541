#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/interop/flax_weights.h"
#include "fuzz/target.h"
#include "io/filesystem/file.h"
#include "support/paths.h"

namespace smelt {

FuzzTarget fuzz_target() {
  using nlohmann::json;
  const json array{{2, 1}, "float32", json::binary({1, 2, 3, 4, 5, 6, 7, 8})};
  const json tree{{"a", {{"kernel", json::binary(json::to_msgpack(array), 1)}}},
                  {"b", {{"embedding", json::binary(json::to_msgpack(array), 1)}}}};
  const auto packed = json::to_msgpack(tree);
  return {.seeds = {std::string(packed.begin(), packed.end())},
          .words = {"\xdf\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff\x01", "\xc6", "\xcf", "\x93",
                    "float32"},
          .repair = {},
          .memory_base = 1 << 18,
          .memory_factor = 512};
}

}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  static const TempDir dir;
  io::write_file(dir.file("flax_model.msgpack"), text_of(data, size));
  try {
    for (const auto& [name, tensor] : checkpoint::open_flax_weights(dir.file("flax_model.msgpack")))
      CHECK(tensor.read().size() == tensor.shape.size_bytes());
  } catch (const UsageError&) {
  }
  return 0;
}
