#include "pjrt/plugin.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

namespace smelt::pjrt {
namespace {

constexpr std::string_view kNotAPlugin =
    "use a PJRT plugin: a shared library for this machine that exports GetPjrtApi";

const pjrt_abi::Api* open_api(const std::string& path) {
  if (!std::filesystem::exists(path)) throw_errno("plugin", path, ENOENT);
  // hides XLA's info messages; its warnings stay
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "1", /*overwrite=*/0);
  // With a path that has no slash, dlopen would search the system folders instead.
  const std::string absolute = std::filesystem::absolute(path).string();
  void* library = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw UsageError(str("plugin: ", ::dlerror()), kNotAPlugin);
  const auto api_of = reinterpret_cast<const pjrt_abi::Api* (*)()>(::dlsym(library, "GetPjrtApi"));
  if (api_of == nullptr) {
    ::dlclose(library);
    throw UsageError(str("plugin: ", path, " does not export GetPjrtApi"), kNotAPlugin);
  }
  const pjrt_abi::Api* api = api_of();
  if (api == nullptr) throw SystemError(str("plugin: GetPjrtApi of ", path, " returned null"));
  return api;
}

}  // namespace

std::shared_ptr<const Plugin> Plugin::load(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Plugin>> loaded;
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(path); found != loaded.end()) return found->second;
  const auto plugin = std::make_shared<const Plugin>(path);
  loaded.emplace(path, plugin);
  return plugin;
}

Plugin::Plugin(std::string path) : path_(std::move(path)), api_(open_api(path_)) {
  if (api_->version.major_version != pjrt_abi::kMajorVersion) {
    throw UsageError(str("plugin: ", path_, " has PJRT ABI version ", abi_version(), ", expected ",
                         pjrt_abi::kMajorVersion, ".x"),
                     "install the plugin version that this smelt supports");
  }
  if (has(pjrt_abi::PluginInitialize::kFunction)) call(pjrt_abi::PluginInitialize{});
}

std::string Plugin::abi_version() const {
  return str(api_->version.major_version, ".", api_->version.minor_version);
}

bool Plugin::has(const pjrt_abi::Function& function) const {
  CHECK(function.index < pjrt_abi::Api::kFunctions);
  const std::size_t end = offsetof(pjrt_abi::Api, functions) + (function.index + 1) * sizeof(void*);
  return end <= api_->struct_size && api_->functions[function.index] != nullptr;
}

void (*Plugin::require(const pjrt_abi::Function& function) const)() {
  if (!has(function)) {
    throw SystemError(
        str("plugin: ", path_, " (PJRT ", abi_version(), ") is too old: it lacks ", function.name),
        "install a newer version of the plugin");
  }
  return api_->functions[function.index];
}

void Plugin::check(std::string_view function, pjrt_abi::Error* error) const {
  if (error == nullptr) return;
  pjrt_abi::ErrorMessage message{};
  message.struct_size = pjrt_abi::struct_size<pjrt_abi::ErrorMessage>();
  message.error = error;
  reinterpret_cast<void (*)(pjrt_abi::ErrorMessage*)>(require(pjrt_abi::ErrorMessage::kFunction))(
      &message);
  const std::string text(message.message, message.message_size);
  const pjrt_abi::ErrorCode code = take_code(error);
  destroy(error);
  throw PjrtError(str(function, ": ", text), code);
}

pjrt_abi::ErrorCode Plugin::take_code(pjrt_abi::Error* error) const {
  if (!has(pjrt_abi::ErrorGetCode::kFunction)) return pjrt_abi::ErrorCode::unknown;
  pjrt_abi::ErrorGetCode args{};
  args.struct_size = pjrt_abi::struct_size<pjrt_abi::ErrorGetCode>();
  args.error = error;
  if (pjrt_abi::Error* nested = entry<pjrt_abi::ErrorGetCode>()(&args)) {
    destroy(nested);
    return pjrt_abi::ErrorCode::unknown;
  }
  return args.code;
}

void Plugin::destroy(pjrt_abi::Error* error) const {
  pjrt_abi::ErrorDestroy args{};
  args.struct_size = pjrt_abi::struct_size<pjrt_abi::ErrorDestroy>();
  args.error = error;
  reinterpret_cast<void (*)(pjrt_abi::ErrorDestroy*)>(require(pjrt_abi::ErrorDestroy::kFunction))(
      &args);
}

}  // namespace smelt::pjrt
