// N:M sparsity: in each group of M neighbouring inputs of an output, only the N largest weights are
// kept (Mishra et al. 2021, arXiv 2104.08378, who train 2:4).
#pragma once

#include <cstdint>
#include <string>

namespace smelt::model {

// Keeps `kept` of each group of `of` weights.
struct NmPattern {
  std::int64_t kept = 0, of = 0;
};
// Parses "2:4". Throws UsageError that begins with `what` if the text is not such a pattern.
NmPattern parse_nm(const std::string& text, const std::string& what);
// Returns "2:4".
std::string nm_text(const NmPattern& nm);

}  // namespace smelt::model
