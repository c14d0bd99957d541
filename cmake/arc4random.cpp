// glibc's arc4random_buf(3), which it has only since 2.36, for statically linked libraries that
// need it.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

extern "C" void arc4random_buf(void* out, std::size_t bytes) noexcept {
  constexpr std::size_t kMost = 256;  // the limit of getentropy
  for (auto* at = static_cast<unsigned char*>(out); bytes > 0;) {
    const std::size_t some = std::min(bytes, kMost);
    if (::getentropy(at, some) != 0) std::abort();
    at += some;
    bytes -= some;
  }
}
