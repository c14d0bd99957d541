#include "distributed/stand_in/programs.h"

#include <algorithm>
#include <set>

#include "io/formats/crc32c.h"
#include "io/formats/wire.h"

namespace smelt::stand_in {
namespace {

struct OutputElementTypes {
  static constexpr pjrt_abi::Function kFunction{90, "PJRT_Executable_OutputElementTypes"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  pjrt_abi::Executable* executable = nullptr;
  pjrt_abi::ElementType* output_types = nullptr;  // [out]
  std::size_t num_output_types = 0;               // [out]
  static constexpr auto kLast = &OutputElementTypes::num_output_types;
};

struct OutputDimensions {
  static constexpr pjrt_abi::Function kFunction{91, "PJRT_Executable_OutputDimensions"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  pjrt_abi::Executable* executable = nullptr;
  std::size_t num_outputs = 0;
  const std::int64_t* dims = nullptr;      // [out] concatenated for all outputs
  const std::size_t* dim_sizes = nullptr;  // [out]
  static constexpr auto kLast = &OutputDimensions::dim_sizes;
};

// Returns the indices of main's donated arguments. `module` is text in the form that smelt writes:
// "%arg0: tensor<…> {tf.aliasing_output = …}, %arg1: …".
std::vector<std::int32_t> donated_arguments(std::string_view module) {
  constexpr std::string_view kArgument = "%arg", kDonated = "tf.aliasing_output";
  const std::size_t begin = module.find("@main(");
  std::string_view head = module.substr(begin, module.find(") -> (", begin) - begin);
  std::vector<std::int32_t> donated;
  std::int32_t number = -1;
  for (std::size_t at = head.find(kArgument); at != head.npos; ++number) {
    const std::size_t next = head.find(kArgument, at + 1);
    if (head.substr(at, next - at).find(kDonated) != head.npos) donated.push_back(number + 1);
    at = next;
  }
  return donated;
}

// Appends the overrides to the message, which is valid because entries of a protobuf map may occur
// anywhere in it.
std::string with_cpu_overrides(const std::string& options) {
  constexpr std::uint32_t kOverrides = 7;
  io::WireWriter more;
  const std::string cpu = pjrt::serialize(pjrt::with_platform_overrides({}, "cpu"));
  io::WireReader reader(cpu);
  while (const auto field = reader.next())
    if (field->number == kOverrides) more.bytes(kOverrides, field->bytes);
  return options + more.take();
}

}  // namespace

ProgramFacts ServedProgram::facts(const PodLayout& layout, int process) const {
  ProgramFacts out{.result_types = result_types, .result_dims = result_dims, .donated = donated};
  for (const int id : real.devices())
    if (layout.process_of(id) == process) out.own_ids.push_back(id);
  std::ranges::reverse(out.own_ids);  // callers must not rely on ascending ids
  return out;
}

std::shared_ptr<const ServedProgram> Programs::served(pjrt_abi::LoadedExecutable* raw,
                                                      std::uint32_t fingerprint,
                                                      std::vector<std::int32_t> donated) {
  pjrt::Handle<pjrt_abi::LoadedExecutableDestroy> handle(client_->plugin(), raw);
  pjrt_abi::LoadedExecutableGetExecutable of_loaded{};
  of_loaded.loaded_executable = raw;
  const pjrt::Handle<pjrt_abi::ExecutableDestroy> executable(
      client_->plugin(), client_->plugin()->call(of_loaded).executable);
  OutputElementTypes types{};
  types.executable = executable.raw();
  types = client_->plugin()->call(types);
  OutputDimensions dimensions{};
  dimensions.executable = executable.raw();
  dimensions = client_->plugin()->call(dimensions);
  std::vector<std::int32_t> result_types;
  std::vector<std::vector<std::int64_t>> result_dims;
  for (std::size_t i = 0; i < types.num_output_types; ++i) {
    result_types.push_back(static_cast<std::int32_t>(types.output_types[i]));
    result_dims.emplace_back(dimensions.dims, dimensions.dims + dimensions.dim_sizes[i]);
    dimensions.dims += dimensions.dim_sizes[i];
  }
  pjrt::Executable real(client_, std::move(handle), fingerprint);
  std::set<int> processes;
  for (const int id : real.devices()) processes.insert(layout_.process_of(id));
  auto out = std::make_shared<const ServedProgram>(
      ServedProgram{.fingerprint = fingerprint,
                    .processes = {processes.begin(), processes.end()},
                    .result_types = std::move(result_types),
                    .result_dims = std::move(result_dims),
                    .donated = std::move(donated),
                    .real = std::move(real)});
  made_[fingerprint] = out;
  return out;
}

std::shared_ptr<const ServedProgram> Programs::compile(const std::string& module,
                                                       const std::string& options) {
  const std::uint32_t fingerprint = io::crc32c(module, io::crc32c(options));
  const std::lock_guard lock(mutex_);
  if (auto made = made_[fingerprint].lock()) return made;
  const pjrt_abi::Program program = pjrt::stablehlo_program(module);
  const std::string full = platform_ == "cpu" ? options : with_cpu_overrides(options);
  pjrt_abi::ClientCompile args{};
  args.client = client_->raw();
  args.program = &program;
  args.compile_options = full.data();
  args.compile_options_size = full.size();
  return served(client_->plugin()->call(args).executable, fingerprint, donated_arguments(module));
}

std::string Programs::serialize(const ServedProgram& program) {
  return Packer()
      .add(program.fingerprint)
      .list(program.donated)
      .text(program.real.program().serialize())
      .take();
}

std::shared_ptr<const ServedProgram> Programs::load(std::string_view serialized) {
  Unpacker in(serialized);
  const auto fingerprint = in.take<std::uint32_t>();
  auto donated = in.list<std::int32_t>();
  const std::string_view bytes = in.text();
  const std::lock_guard lock(mutex_);
  if (auto made = made_[fingerprint].lock()) return made;
  pjrt_abi::ExecutableDeserializeAndLoad args{};
  args.client = client_->raw();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  return served(client_->plugin()->call(args).loaded_executable, fingerprint, std::move(donated));
}

}  // namespace smelt::stand_in
