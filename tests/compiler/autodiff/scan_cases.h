// Test cases of scan. Each runs as a scan and as a loop unrolled by hand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/autodiff/scan.h"
#include "compiler/ir/op.h"

namespace smelt::testing {

// How a case runs its body: as a scan or unrolled.
class Loop {
 public:
  using Tensors = std::vector<Tensor>;
  // The inputs of the body: slices of the stacked tensors, and the index.
  struct Step {
    std::function<Tensor(Tensor stacked)> slice;
    Tensor index;  // s32
    Tensors carry;
    RematPolicy save;
  };
  using Body = std::function<ScanStep(const Step&)>;

  static Loop unrolled() { return {}; }
  static Loop scanned(RematPolicy save) {
    Loop loop;
    loop.scan_ = true;
    loop.save_ = save;
    return loop;
  }

  ScanStep run(Graph& graph, std::int64_t length, const Tensors& init, const Body& body) const;

 private:
  bool scan_ = false;
  RematPolicy save_ = RematPolicy::all;
};

struct ScanCase {
  std::string name;
  std::vector<OpExample::Input> inputs;
  // Results of a program. The loss is a weighted sum of the floating-point results.
  std::function<std::vector<Tensor>(Graph&, std::span<const Tensor>, const Loop&)> build;
};

// Floating-point tensors have type `dtype`.
std::vector<ScanCase> scan_cases(DType dtype);

}  // namespace smelt::testing
