// The programs of the pod's processes. The real plugin compiles each program once for all of them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/stand_in/frames.h"
#include "distributed/stand_in/layout.h"
#include "pjrt/executable.h"

namespace smelt::stand_in {

struct ServedProgram {
  std::uint32_t fingerprint = 0;  // of the module and its options
  std::vector<int> processes;     // processes that launch it together
  std::vector<std::int32_t> result_types;
  std::vector<std::vector<std::int64_t>> result_dims;  // per device
  std::vector<std::int32_t> donated;
  pjrt::Executable real;  // its devices are ids of the pod

  ProgramFacts facts(const PodLayout& layout, int process) const;
};

class Programs {
 public:
  // `platform` is the name that the processes see. If it is not "cpu", compile() adds the options
  // that the real CPU plugin needs.
  Programs(std::shared_ptr<const pjrt::Client> client, const PodLayout& layout,
           std::string platform)
      : client_(std::move(client)), layout_(layout), platform_(std::move(platform)) {}

  std::shared_ptr<const ServedProgram> compile(const std::string& module,
                                               const std::string& options);
  std::shared_ptr<const ServedProgram> load(std::string_view serialized);
  static std::string serialize(const ServedProgram& program);

 private:
  std::shared_ptr<const ServedProgram> served(pjrt_abi::LoadedExecutable* raw,
                                              std::uint32_t fingerprint,
                                              std::vector<std::int32_t> donated);

  std::shared_ptr<const pjrt::Client> client_;
  PodLayout layout_;
  std::string platform_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::weak_ptr<const ServedProgram>> made_;
};

}  // namespace smelt::stand_in
