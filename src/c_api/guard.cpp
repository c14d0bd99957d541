#include "c_api/guard.h"

#include <smelt.h>

#include <new>
#include <string>

#include "base/error.h"

namespace smelt::c_api {
namespace {

struct LastError {
  std::string what, hint;
};

// Each thread has its own error. Allocated at the first error and freed when the thread ends.
LastError& last_error() {
  thread_local LastError error;
  return error;
}

int keep(int code, const char* text) {
  const ErrorParts parts = error_parts(text);
  last_error() = {parts.what, parts.hint};
  return code;
}

int keep_error(const std::exception_ptr& error) try {
  std::rethrow_exception(error);
} catch (const UsageError& fault) {
  return keep(SMELT_USAGE, fault.what());
} catch (const Stopped& fault) {
  return keep(SMELT_STOPPED, fault.what());
} catch (const BugError& fault) {
  return keep(SMELT_BUG, fault.what());
} catch (const std::bad_alloc&) {
  return keep(SMELT_SYSTEM, "this machine does not have enough memory");
} catch (const std::exception& fault) {
  return keep(SMELT_SYSTEM, fault.what());
}

}  // namespace

int store_error(const std::exception_ptr& error) noexcept {
  try {
    return keep_error(error);
  } catch (...) {  // no memory for the message
    return SMELT_SYSTEM;
  }
}

}  // namespace smelt::c_api

const char* smelt_error_text(void) { return smelt::c_api::last_error().what.c_str(); }

const char* smelt_error_hint(void) { return smelt::c_api::last_error().hint.c_str(); }
