// What processes that train together share while their clients are made and run. XLA's CUDA client
// tells the other processes of its devices by it, and NCCL of its identities.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pjrt/pjrt_abi_processes.h"

namespace smelt {

// All three may be called from any thread at any time, and throw where the store cannot be reached.
struct KeyValueStore {
  // Waits for a value; nullopt when none has come in that time.
  std::function<std::optional<std::string>(const std::string& key,
                                           std::chrono::milliseconds timeout)>
      get;
  std::function<std::optional<std::string>(const std::string& key)> try_get;
  // False when the key has a value already, which stays.
  std::function<bool(const std::string& key, const std::string& value)> put;
};

// Sets a client's callbacks. The store must outlive the client.
void give_store(const KeyValueStore& store, pjrt::ClientCreate& args);

}  // namespace smelt
