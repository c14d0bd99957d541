// Zeros in a pattern: of each so many neighbouring inputs of an output so many weights stay, the
// largest by size (Mishra et al. 2021, arXiv 2104.08378, who train 2:4).
#pragma once

#include <cstdint>
#include <string>

namespace smelt {

struct NmPattern {
  std::int64_t kept = 0, of = 0;
};
// "2:4". UsageError, which `what` begins, for what is no such pattern.
NmPattern parse_nm(const std::string& text, const std::string& what);
std::string nm_text(const NmPattern& nm);

}  // namespace smelt
