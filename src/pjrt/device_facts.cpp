#include "pjrt/device_facts.h"

#include <string_view>

#include "pjrt/pjrt_abi_processes.h"

namespace smelt::pjrt {

DeviceFacts facts_of(const Plugin& plugin, pjrt_abi::DeviceDescription* description) {
  pjrt_abi::DeviceDescriptionId id{};
  pjrt_abi::DeviceDescriptionProcessIndex process{};
  id.device_description = process.device_description = description;
  DeviceFacts out{.id = plugin.call(id).id, .process = plugin.call(process).process_index};
  if (!plugin.has(pjrt_abi::DeviceDescriptionAttributes::kFunction)) return out;
  pjrt_abi::DeviceDescriptionAttributes attributes{};
  attributes.device_description = description;
  attributes = plugin.call(attributes);
  for (std::size_t i = 0; i < attributes.num_attributes; ++i) {
    const pjrt_abi::NamedValue& value = attributes.attributes[i];
    if (std::string_view(value.name, value.name_size) == "slice_index" &&
        value.type == pjrt_abi::ValueType::int64)
      out.slice = static_cast<int>(value.int64_value);
  }
  return out;
}

}  // namespace smelt::pjrt
