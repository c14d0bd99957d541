// A loaded PJRT plugin, and the one funnel through which all of its functions are called.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "pjrt/pjrt_abi.h"

namespace smelt {

// The plugin refused or failed: "<function>: <the plugin's own text>".
class PjrtError : public SystemError {
 public:
  PjrtError(const std::string& what, pjrt::ErrorCode code) : SystemError(what), code_(code) {}
  pjrt::ErrorCode code() const { return code_; }

 private:
  pjrt::ErrorCode code_;
};

// Thread-safe. A plugin is loaded once for a path and never unloaded: its threads outlive handles.
class Plugin {
 public:
  // UsageError with a hint when the file is missing, no shared library, no PJRT plugin, or speaks
  // another major version of the ABI; PjrtError when its initialisation fails.
  static std::shared_ptr<const Plugin> load(const std::string& path);

  explicit Plugin(std::string path);  // use load()
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const std::string& path() const { return path_; }
  std::string abi_version() const;  // "0.81"

  // Calls the function that `Args` belongs to, with struct_size filled in, and returns the
  // arguments with the plugin's answers. Throws SystemError when this plugin lacks the function,
  // PjrtError when it fails.
  template <class Args>
  Args call(Args args) const {
    args.struct_size = pjrt::struct_size<Args>();
    check(Args::kFunction.name, entry<Args>()(&args));
    return args;
  }

  bool has(const pjrt::Function& function) const;

 private:
  template <class Args>
  auto entry() const {
    return reinterpret_cast<pjrt::Error* (*)(Args*)>(require(Args::kFunction));
  }
  void (*require(const pjrt::Function& function) const)();
  void check(std::string_view function, pjrt::Error* error) const;
  pjrt::ErrorCode take_code(pjrt::Error* error) const;
  void destroy(pjrt::Error* error) const;

  std::string path_;
  const pjrt::Api* api_ = nullptr;
};

}  // namespace smelt
