#include "pjrt/key_value_store.h"

#include <cstring>
#include <exception>

#include "base/error.h"

namespace smelt::pjrt {
namespace {

template <class Args>
pjrt_abi::Error* callback_failed(const Args& args, pjrt_abi::ErrorCode code,
                                 const std::string& text) {
  return (*args.callback_error)(code, text.data(), text.size());
}

template <class Args>
std::string key_of_call(const Args& args) {
  return {args.key, args.key_size};
}

template <class Args>
void set_value(const std::string& value, Args& args) {
  args.value = new char[value.size() + 1];
  std::memcpy(args.value, value.data(), value.size());
  args.value_size = value.size();
  args.value_deleter_callback = [](char* held) { delete[] held; };
}

// Exceptions of the store must not propagate into the plugin's frames.
template <class Args, class Work>
pjrt_abi::Error* with_store(Args& args, Work work) try {
  return work(*static_cast<const KeyValueStore*>(args.user_arg));
} catch (const std::exception& error) {
  return callback_failed(args, pjrt_abi::ErrorCode::unavailable, error.what());
}

pjrt_abi::Error* get_key(pjrt_abi::KeyValueGet* args) {
  return with_store(*args, [&](const KeyValueStore& store) -> pjrt_abi::Error* {
    const std::string key = key_of_call(*args);
    const auto value = store.get(key, std::chrono::milliseconds(args->timeout_in_ms));
    if (!value)
      return callback_failed(
          *args, pjrt_abi::ErrorCode::deadline_exceeded,
          str("no value for key '", key, "' after ", args->timeout_in_ms, " ms"));
    set_value(*value, *args);
    return nullptr;
  });
}

pjrt_abi::Error* try_get_key(pjrt_abi::KeyValueTryGet* args) {
  return with_store(*args, [&](const KeyValueStore& store) -> pjrt_abi::Error* {
    const std::string key = key_of_call(*args);
    const auto value = store.try_get(key);
    if (!value)
      return callback_failed(*args, pjrt_abi::ErrorCode::not_found,
                             str("no value for key '", key, "'"));
    set_value(*value, *args);
    return nullptr;
  });
}

pjrt_abi::Error* put_key(pjrt_abi::KeyValuePut* args) {
  return with_store(*args, [&](const KeyValueStore& store) -> pjrt_abi::Error* {
    const std::string key = key_of_call(*args);
    if (store.put(key, {args->value, args->value_size})) return nullptr;
    return callback_failed(*args, pjrt_abi::ErrorCode::already_exists,
                           str("key '", key, "' already has a value"));
  });
}

}  // namespace

void set_store_callbacks(const KeyValueStore& store, pjrt_abi::ClientCreate& args) {
  void* const user = const_cast<KeyValueStore*>(&store);
  args.kv_get_callback = reinterpret_cast<void*>(&get_key);
  args.kv_try_get_callback = reinterpret_cast<void*>(&try_get_key);
  args.kv_put_callback = reinterpret_cast<void*>(&put_key);
  args.kv_get_user_arg = args.kv_try_get_user_arg = args.kv_put_user_arg = user;
}

}  // namespace smelt::pjrt
