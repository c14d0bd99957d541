// A persistent cache of compiled programs, so that later processes load them instead of compiling.
// It is a folder with one file per program. The key is everything that determines the program:
// module, options, plugin, devices, and the CPU model. File format (little endian):
//   "smeltx01", u64 size of the key, u64 size of the program, u32 CRC-32C of the key, u32 CRC-32C
//   of the program, key, program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pjrt/client.h"
#include "pjrt/executable.h"

namespace smelt::pjrt {

// A folder of compiled programs.
class CompileCache {
 public:
  static constexpr std::uint64_t kDefaultMaxBytes = std::uint64_t{4} << 30;

  // If the cache exceeds `max_bytes`, the least recently used programs are removed.
  explicit CompileCache(std::string folder, std::uint64_t max_bytes = kDefaultMaxBytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Returns the cache of this user: $SMELT_COMPILE_CACHE, or smelt/compiled in $XDG_CACHE_HOME or
  // ~/.cache. Returns nullopt if SMELT_COMPILE_CACHE is "off" or no folder is known.
  static std::optional<CompileCache> of_user();

  // Returns the program from the cache, or compiles and stores it. Folders and files that other
  // users can write are not trusted and not read. If the cache cannot be read or written, the
  // program is compiled and a message is logged. Throws PjrtError like Client::compile.
  Executable compile(const Client& client, std::string_view stablehlo,
                     const CompileOptions& options = {}) const;

 private:
  std::optional<Executable> find(const Client& client, const std::string& key,
                                 std::uint32_t launch) const;
  void keep(const std::string& key, const CompiledProgram& program) const;
  void make_room(std::uint64_t bytes) const;
  std::string path_of(const std::string& key) const;
  bool is_safe() const;

  std::string folder_;
  std::uint64_t max_bytes_;
};

// Compiles with the user's cache, if there is one.
Executable compile_cached(const Client& client, std::string_view stablehlo,
                          const CompileOptions& options = {});

}  // namespace smelt::pjrt
