#include "runs/collectives.h"

#include <map>
#include <ostream>
#include <set>

#include "base/error.h"
#include "format/wire.h"

namespace smelt {
namespace {

constexpr std::string_view kWhat = "HloModuleProto";

// Field numbers of xla/service/hlo.proto and xla/xla_data.proto.
constexpr std::uint32_t kModule = 1;                            // HloModuleProtoWithConfig
constexpr std::uint32_t kComputations = 3, kEntry = 6;          // HloModuleProto
constexpr std::uint32_t kName = 1, kInstructions = 2, kId = 5;  // HloComputationProto
constexpr std::uint32_t kOpcode = 2, kShape = 3, kCalled = 38;  // HloInstructionProto
constexpr std::uint32_t kElementType = 2, kDimensions = 3, kTupleShapes = 4;  // ShapeProto

// xla_data.proto's PrimitiveType.
constexpr std::uint64_t kF32 = 11, kBf16 = 16;

struct Result {
  Dims dims;
  std::string dtype;
};

struct Instruction {
  std::string opcode;
  std::vector<Result> results;
  std::vector<std::int64_t> called;
};

struct Computation {
  std::string name;
  std::int64_t id = 0;
  std::vector<Instruction> instructions;
};

std::string dtype_name(std::uint64_t type) {
  return type == kF32 ? "f32" : type == kBf16 ? "bf16" : "other";
}

void add_shapes(std::string_view bytes, std::vector<Result>& out) {
  Result result;
  bool tuple = false;
  WireReader reader(bytes, kWhat);
  while (const auto field = reader.next()) {
    if (field->number == kDimensions) append_integers(*field, kWhat, result.dims);
    if (field->number == kElementType)
      result.dtype = dtype_name(static_cast<std::uint64_t>(field->integer()));
    if (field->number != kTupleShapes) continue;
    tuple = true;
    add_shapes(field->bytes, out);
  }
  if (!tuple) out.push_back(std::move(result));
}

Instruction read_instruction(std::string_view bytes) {
  Instruction out;
  WireReader reader(bytes, kWhat);
  while (const auto field = reader.next()) {
    if (field->number == kOpcode) out.opcode = field->bytes;
    if (field->number == kShape) add_shapes(field->bytes, out.results);
    if (field->number == kCalled) append_integers(*field, kWhat, out.called);
  }
  return out;
}

Computation read_computation(std::string_view bytes) {
  Computation out;
  WireReader reader(bytes, kWhat);
  while (const auto field = reader.next()) {
    if (field->number == kName) out.name = field->bytes;
    if (field->number == kId) out.id = field->integer();
    if (field->number == kInstructions) out.instructions.push_back(read_instruction(field->bytes));
  }
  return out;
}

class Module {
 public:
  explicit Module(std::string_view bytes) {
    WireReader reader(bytes, kWhat);
    while (const auto field = reader.next()) {
      if (field->number == kEntry) entry_ = field->integer();
      if (field->number != kComputations) continue;
      Computation c = read_computation(field->bytes);
      computations_[c.id] = std::move(c);
    }
  }

  std::set<Collective> collectives() const {
    std::set<Collective> out;
    add(entry_, 0, out);
    return out;
  }

 private:
  void add(std::int64_t id, int loops, std::set<Collective>& out) const {
    static const std::set<std::string> kOps{"all-gather", "all-reduce", "all-to-all",
                                            "collective-permute", "reduce-scatter"};
    const Computation& c = computations_.at(id);
    const bool cut = c.name.starts_with("all-reduce-scatter");
    for (const Instruction& i : c.instructions) {
      std::string op = i.opcode;
      if (op.ends_with("-start")) op.resize(op.size() - 6);
      if (kOps.contains(op))
        for (const auto& [dims, dtype] : i.results)
          out.insert({cut && op == "all-reduce" ? "reduce-scatter" : op, dims, loops, dtype});
      for (const std::int64_t called : i.called) add(called, loops + (op == "while"), out);
    }
  }

  std::map<std::int64_t, Computation> computations_;
  std::int64_t entry_ = 0;
};

}  // namespace

std::vector<Collective> collectives_of(const CompiledProgram& program) {
  const std::string bytes = program.optimized_module();
  WireReader reader(bytes, kWhat);
  while (const auto field = reader.next()) {
    if (field->number != kModule) continue;
    const auto found = Module(field->bytes).collectives();
    return {found.begin(), found.end()};
  }
  CHECK(false, "no module in what the compiler gave");
}

std::ostream& operator<<(std::ostream& out, const Collective& c) {
  out << c.op << " " << c.dtype << " ";
  for (std::size_t i = 0; i < c.dims.size(); ++i) out << (i == 0 ? "" : "x") << c.dims[i];
  return out << " in " << c.loops << " loops";
}

}  // namespace smelt
