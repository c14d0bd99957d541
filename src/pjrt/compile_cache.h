// Compiled programs that a later process loads instead of compiling them again. A folder of files,
// one for each program, with all that it was made from: module, options, plugin, devices, and on a
// CPU its kind. Files:
//   "smeltx01", u64 bytes of the key, u64 of the program, u32 CRC-32C of the key, u32 of the
//   program, then both (little endian).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pjrt/client.h"
#include "pjrt/executable.h"

namespace smelt {

class CompileCache {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

  // Programs of more than `most_bytes` in all are removed, those not used for longest first.
  explicit CompileCache(std::string folder, std::uint64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // $SMELT_COMPILE_CACHE, unless that is "off"; else smelt/compiled in $XDG_CACHE_HOME or ~/.cache.
  // nullopt where there is none of these.
  static std::optional<CompileCache> of_user();

  // The program as it was compiled before, or else compiled now and kept. A folder or file that
  // others can write to is not read: a program in it could be anybody's. What cannot be read or
  // kept is compiled, and told in the log; PjrtError as Client::compile.
  Executable compile(const Client& client, std::string_view stablehlo,
                     const CompileOptions& options = {}) const;

 private:
  std::optional<Executable> find(const Client& client, const std::string& key,
                                 std::uint32_t launch) const;
  void keep(const std::string& key, const CompiledProgram& program) const;
  void make_room(std::uint64_t bytes) const;
  std::string place_of(const std::string& key) const;
  bool is_safe() const;

  std::string folder_;
  std::uint64_t most_bytes_;
};

// By the user's cache, if there is one.
Executable compile_cached(const Client& client, std::string_view stablehlo,
                          const CompileOptions& options = {});

}  // namespace smelt
