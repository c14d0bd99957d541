// Sets or unsets an environment variable while the object lives.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace smelt {

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : ScopedVariable(name) {
    ::setenv(name, value.c_str(), 1);
  }
  explicit ScopedVariable(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) before_ = value;
    ::unsetenv(name);
  }
  ~ScopedVariable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace smelt
