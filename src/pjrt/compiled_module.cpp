#include "pjrt/compiled_module.h"

#include <algorithm>

#include "base/error.h"
#include "io/formats/wire.h"

namespace smelt::pjrt {
namespace {

constexpr std::string_view kWhat = "HloModuleProto";

// Field numbers of xla/service/hlo.proto and xla/xla_data.proto.
constexpr std::uint32_t kModule = 1;                            // HloModuleProtoWithConfig
constexpr std::uint32_t kComputations = 3, kEntry = 6;          // HloModuleProto
constexpr std::uint32_t kName = 1, kInstructions = 2, kId = 5;  // HloComputationProto
constexpr std::uint32_t kOpcode = 2, kShape = 3, kMetadata = 7, kLiteral = 8, kInstructionId = 35,
                        kOperands = 36, kCalled = 38, kBackendConfig = 43, kReplicaGroups = 49,
                        kDeviceList = 87;  // HloInstructionProto
constexpr std::uint32_t kOpName = 2;       // OpMetadata
constexpr std::uint32_t kElementType = 2, kDimensions = 3, kTupleShapes = 4,
                        kLayout = 5;                            // ShapeProto
constexpr std::uint32_t kMemorySpace = 8;                       // LayoutProto: 0 is HBM
constexpr std::uint32_t kS32s = 4;                              // LiteralProto
constexpr std::uint32_t kReplicaIds = 1;                        // ReplicaGroup
constexpr std::uint32_t kListedGroups = 1, kCountedGroups = 2;  // CollectiveDeviceListProto
constexpr std::uint32_t kGroupCount = 1, kGroupSize = 2, kReshape = 3,
                        kPermutation = 4;  // IotaReplicaGroupListProto

// PrimitiveType in xla_data.proto.
struct HloType {
  std::uint64_t number;
  const char* name;
  std::int64_t bytes;
};
constexpr HloType kHloTypes[] = {{1, "pred", 1}, {2, "s8", 1},   {3, "s16", 2},  {4, "s32", 4},
                                 {5, "s64", 8},  {6, "u8", 1},   {7, "u16", 2},  {8, "u32", 4},
                                 {9, "u64", 8},  {10, "f16", 2}, {11, "f32", 4}, {12, "f64", 8},
                                 {16, "bf16", 2}};

std::string type_name(std::uint64_t number) {
  const auto* found = std::ranges::find(kHloTypes, number, &HloType::number);
  return found == std::end(kHloTypes) ? "other" : found->name;
}

std::vector<std::int64_t> integers(std::string_view message, std::uint32_t number) {
  std::vector<std::int64_t> out;
  io::WireReader reader(message, kWhat);
  while (const auto field = reader.next())
    if (field->number == number) io::append_integers(*field, kWhat, out);
  return out;
}

void add_shapes(std::string_view bytes, std::vector<HloResult>& out) {
  HloResult result;
  bool tuple = false;
  io::WireReader reader(bytes, kWhat);
  while (const auto field = reader.next()) {
    if (field->number == kDimensions) io::append_integers(*field, kWhat, result.dims);
    if (field->number == kElementType)
      result.dtype = type_name(static_cast<std::uint64_t>(field->integer()));
    if (field->number == kLayout) {
      const auto space = integers(field->bytes, kMemorySpace);
      result.on_core = !space.empty() && space.back() == 1;
    }
    if (field->number != kTupleShapes) continue;
    tuple = true;
    add_shapes(field->bytes, out);
  }
  if (!tuple) out.push_back(std::move(result));
}

// Returns the first field with this number as text, or an empty string.
std::string text_field(std::string_view message, std::uint32_t number) {
  io::WireReader reader(message, kWhat);
  while (const auto field = reader.next())
    if (field->number == number) return std::string(field->bytes);
  return "";
}

// Decodes an iota replica group list: the numbers 0, 1, … in shape `reshape`, transposed by
// `permutation`, and split into groups of equal size. Returns no groups if the message is invalid.
std::vector<std::vector<std::int64_t>> counted_groups(std::string_view message) {
  const auto one = [&](std::uint32_t number) {
    const auto found = integers(message, number);
    return found.empty() ? std::int64_t{0} : found.front();
  };
  const std::int64_t count = one(kGroupCount), size = one(kGroupSize);
  const std::vector<std::int64_t> sides = integers(message, kReshape);
  const std::vector<std::int64_t> order = integers(message, kPermutation);
  constexpr std::int64_t kMaxDevices = 1 << 20;
  if (count < 1 || size < 1 || count > kMaxDevices || size > kMaxDevices ||
      order.size() != sides.size())
    return {};
  std::vector<std::vector<std::int64_t>> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count * size; ++i) {
    std::vector<std::int64_t> at(sides.size());
    std::int64_t rest = i, device = 0;
    for (std::size_t axis = order.size(); axis-- > 0;) {
      const auto side = static_cast<std::size_t>(order[axis]);
      if (side >= sides.size() || sides[side] < 1) return {};
      at[side] = rest % sides[side];
      rest /= sides[side];
    }
    for (std::size_t side = 0; side < sides.size(); ++side)
      device = device * sides[side] + at[side];
    out[static_cast<std::size_t>(i / size)].push_back(device);
  }
  return out;
}

void add_device_list(std::string_view message, HloInstruction& out) {
  io::WireReader reader(message, kWhat);
  while (const auto field = reader.next()) {
    if (field->number == kListedGroups) out.groups.push_back(integers(field->bytes, kReplicaIds));
    if (field->number == kCountedGroups) out.groups = counted_groups(field->bytes);
  }
}

void read_field(const io::WireField& field, HloInstruction& out) {
  switch (field.number) {
    case kName:
      out.name = field.bytes;
      break;
    case kOpcode:
      out.opcode = field.bytes;
      break;
    case kShape:
      add_shapes(field.bytes, out.results);
      break;
    case kMetadata:
      out.op_name = text_field(field.bytes, kOpName);
      break;
    case kLiteral:
      out.constant = integers(field.bytes, kS32s);
      break;
    case kInstructionId:
      out.id = field.integer();
      break;
    case kOperands:
      io::append_integers(field, kWhat, out.operands);
      break;
    case kCalled:
      io::append_integers(field, kWhat, out.called);
      break;
    case kBackendConfig:
      out.backend_config = field.bytes;
      break;
    case kReplicaGroups:
      out.groups.push_back(integers(field.bytes, kReplicaIds));
      break;
    case kDeviceList:
      out.groups.clear();  // this field repeats the groups of kReplicaGroups
      add_device_list(field.bytes, out);
      break;
    default:
      break;
  }
}

HloInstruction read_instruction(std::string_view bytes) {
  HloInstruction out;
  io::WireReader reader(bytes, kWhat);
  while (const auto field = reader.next()) read_field(*field, out);
  return out;
}

HloComputation read_computation(std::string_view bytes) {
  HloComputation out;
  io::WireReader reader(bytes, kWhat);
  while (const auto field = reader.next()) {
    if (field->number == kName) out.name = field->bytes;
    if (field->number == kId) out.id = field->integer();
    if (field->number == kInstructions) out.instructions.push_back(read_instruction(field->bytes));
  }
  return out;
}

}  // namespace

std::int64_t HloResult::bytes() const {
  const auto* found =
      std::ranges::find_if(kHloTypes, [&](const HloType& type) { return dtype == type.name; });
  std::int64_t out = found == std::end(kHloTypes) ? 0 : found->bytes;
  for (const std::int64_t dim : dims) out *= dim;
  return out;
}

const HloComputation& HloModule::at(std::int64_t id) const {
  const auto found = computations.find(id);
  if (found == computations.end())
    throw UsageError(str(kWhat, ": computation ", id, " is called but missing"),
                     "install the plugin version that this smelt supports (smelt setup)");
  return found->second;
}

HloModule read_hlo_module(std::string_view bytes) {
  const std::string module = text_field(bytes, kModule);
  if (module.empty())
    throw UsageError(str(kWhat, ": found no module in ", bytes.size(), " bytes"),
                     "install the plugin version that this smelt supports (smelt setup)");
  HloModule out;
  io::WireReader reader(module, kWhat);
  while (const auto field = reader.next()) {
    if (field->number == kEntry) out.entry = field->integer();
    if (field->number != kComputations) continue;
    HloComputation c = read_computation(field->bytes);
    out.computations[c.id] = std::move(c);
  }
  return out;
}

std::int64_t trip_count(const HloModule& module, const HloInstruction& loop) {
  if (loop.called.size() < 2) return 1;
  std::int64_t count = 1;
  for (const HloInstruction& i : module.at(loop.called[1]).instructions)
    if (i.opcode == "constant" && i.constant.size() == 1)
      count = std::max(count, i.constant.front());
  return count;
}

}  // namespace smelt::pjrt
