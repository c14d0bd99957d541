// The key-value store of a multi-process run. XLA's CUDA client uses it to exchange device
// information and NCCL's ids.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pjrt/pjrt_abi_processes.h"

namespace smelt::pjrt {

// The functions of the store. They may be called from any thread at any time, and throw if the
// store cannot be reached.
struct KeyValueStore {
  // Waits for a value. Returns nullopt if none arrives before the timeout.
  std::function<std::optional<std::string>(const std::string& key,
                                           std::chrono::milliseconds timeout)>
      get;
  std::function<std::optional<std::string>(const std::string& key)> try_get;
  // Returns false, and keeps the old value, if the key already has one.
  std::function<bool(const std::string& key, const std::string& value)> put;
};

// Sets the key-value callbacks in the arguments of a client creation. The store must outlive the
// client.
void set_store_callbacks(const KeyValueStore& store, pjrt_abi::ClientCreate& args);

}  // namespace smelt::pjrt
