// Write buffer of a local file.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace smelt::io {

class WriteBuffer {
 public:
  // With `bypasses_cache`, writes bypass the page cache (O_DIRECT, see open(2)) as long as the file
  // supports it; the descriptor must have been opened with that flag.
  void begin(bool bypasses_cache) { direct_ = bypasses_cache; }

  // Buffers the bytes and writes full buffers to the descriptor. Returns false and sets errno on
  // failure.
  bool write(int fd, std::string_view bytes);
  // Writes the remaining bytes and frees the memory.
  bool flush(int fd);

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::size_t capacity() const;
  bool empty(int fd);
  bool hand_over(int fd, std::string_view bytes);
  bool stop_bypassing(int fd);

  std::unique_ptr<char, Free> memory_;  // aligned as O_DIRECT requires
  std::size_t held_ = 0;
  bool direct_ = false;
};

}  // namespace smelt::io
