// A secret text such as a token, key or password. It cannot be printed, is wiped when destroyed,
// and is only readable through an explicit call.
#pragma once

#include <string.h>

#include <ostream>
#include <string>
#include <utility>

namespace smelt::io {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : text_(other.text_) { other.wipe(); }
  Secret& operator=(Secret other) noexcept {
    wipe();
    text_ = other.text_;
    return *this;
  }
  ~Secret() { wipe(); }

  bool empty() const { return text_.empty(); }
  const std::string& reveal() const { return text_; }
  friend std::ostream& operator<<(std::ostream&, const Secret&) = delete;

 private:
  void wipe() {
    ::explicit_bzero(text_.data(), text_.size());
    text_.clear();
  }

  std::string text_;
};

}  // namespace smelt::io
