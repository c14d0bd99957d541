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
  using Tensors = std::vector<compiler::Tensor>;
  // The inputs of the body: slices of the stacked tensors, and the index.
  struct Step {
    std::function<compiler::Tensor(compiler::Tensor stacked)> slice;
    compiler::Tensor index;  // s32
    Tensors carry;
    compiler::RematPolicy save;
  };
  using Body = std::function<compiler::ScanStep(const Step&)>;

  static Loop unrolled() { return {}; }
  static Loop scanned(compiler::RematPolicy save) {
    Loop loop;
    loop.scan_ = true;
    loop.save_ = save;
    return loop;
  }

  compiler::ScanStep run(compiler::Graph& graph, std::int64_t length, const Tensors& init,
                         const Body& body) const;

 private:
  bool scan_ = false;
  compiler::RematPolicy save_ = compiler::RematPolicy::all;
};

struct ScanCase {
  std::string name;
  std::vector<compiler::OpExample::Input> inputs;
  // Results of a program. The loss is a weighted sum of the floating-point results.
  std::function<std::vector<compiler::Tensor>(compiler::Graph&, std::span<const compiler::Tensor>,
                                              const Loop&)>
      build;
};

// Floating-point tensors have type `dtype`.
std::vector<ScanCase> scan_cases(compiler::DType dtype);

}  // namespace smelt::testing
