// Converts exceptions to the return codes of include/smelt.h.
#pragma once

#include <exception>

namespace smelt::c_api {

// Stores the message and hint of the current exception for the calling thread. Returns its code.
int store_error(const std::exception_ptr& error) noexcept;

// Calls `work`. Returns SMELT_OK, or the code of the exception that it throws.
template <class Work>
int guarded(Work&& work) noexcept {
  try {
    work();
    return 0;
  } catch (...) {
    return store_error(std::current_exception());
  }
}

}  // namespace smelt::c_api
