// Bytes on their way into a local file.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace smelt {

class WriteBuffer {
 public:
  // Writes go around the system's cache while the file takes that (open(2): O_DIRECT); whoever
  // opened the descriptor has asked for it.
  void begin(bool bypasses_cache) { direct_ = bypasses_cache; }

  // Takes the bytes; what is too much for the buffer goes to the descriptor. False with errno.
  bool write(int fd, std::string_view bytes);
  // Hands on what is left and frees the memory.
  bool flush(int fd);

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::size_t capacity() const;
  bool empty(int fd);
  bool hand_over(int fd, std::string_view bytes);
  bool stop_bypassing(int fd);

  std::unique_ptr<char, Free> memory_;  // aligned as O_DIRECT wants it
  std::size_t held_ = 0;
  bool direct_ = false;
};

}  // namespace smelt
