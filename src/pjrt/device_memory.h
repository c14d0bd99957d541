// What a device's memory holds, by the kind that PJRT calls it.
#pragma once

#include <optional>
#include <string_view>

namespace smelt {

// Bytes; a small part of them is the runtime's own. nullopt for a kind that is not known.
// cloud.google.com/tpu/docs; v2, v3 and tpu7x have two devices a chip.
std::optional<double> device_memory_bytes(std::string_view device_kind);

}  // namespace smelt
