// A loaded PJRT plugin. All calls of plugin functions go through this class.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "pjrt/pjrt_abi.h"

namespace smelt::pjrt {

// A plugin call failed: "<function>: <message of the plugin>".
class PjrtError : public SystemError {
 public:
  PjrtError(const std::string& what, pjrt_abi::ErrorCode code) : SystemError(what), code_(code) {}
  pjrt_abi::ErrorCode code() const { return code_; }

 private:
  pjrt_abi::ErrorCode code_;
};

// A plugin library; thread-safe. Each path is loaded once and never unloaded, as the plugin's
// threads outlive all handles.
class Plugin {
 public:
  // Loads a plugin. Throws UsageError if the file is missing, is not a PJRT plugin or has another
  // major ABI version. Throws PjrtError if its initialization fails.
  static std::shared_ptr<const Plugin> load(const std::string& path);

  explicit Plugin(std::string path);  // use load()
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const std::string& path() const { return path_; }
  std::string abi_version() const;  // "0.81"

  // Calls the plugin function of `Args` with struct_size filled in, and returns the arguments with
  // the plugin's outputs. Throws SystemError if the plugin lacks the function, and PjrtError if the
  // call fails.
  template <class Args>
  Args call(Args args) const {
    args.struct_size = pjrt_abi::struct_size<Args>();
    check(Args::kFunction.name, entry<Args>()(&args));
    return args;
  }

  // Returns whether the plugin implements the function.
  bool has(const pjrt_abi::Function& function) const;

 private:
  template <class Args>
  auto entry() const {
    return reinterpret_cast<pjrt_abi::Error* (*)(Args*)>(require(Args::kFunction));
  }
  void (*require(const pjrt_abi::Function& function) const)();
  void check(std::string_view function, pjrt_abi::Error* error) const;
  pjrt_abi::ErrorCode take_code(pjrt_abi::Error* error) const;
  void destroy(pjrt_abi::Error* error) const;

  std::string path_;
  const pjrt_abi::Api* api_ = nullptr;
};

}  // namespace smelt::pjrt
