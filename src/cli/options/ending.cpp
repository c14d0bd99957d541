#include "cli/options/ending.h"

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/exit_codes.h"
#include "cli/options/pod_flags.h"
#include "distributed/coordination_service.h"
#include "pjrt/plugin.h"

namespace smelt::cli {

Ending ending_of(const std::exception_ptr& error) try {
  std::rethrow_exception(error);
} catch (const UsageError& fault) {
  return {kUsageExit, fault.what()};
} catch (const BelowThreshold& below) {
  return {kBelowThresholdExit, below.what()};
} catch (const Stopped& stopped) {
  return {kStoppedExit, stopped.what()};
} catch (const BugError& fault) {
  return {kBugExit, fault.what()};
} catch (const distributed::LostPeer& fault) {
  return {kPodExit, fault.what()};
} catch (const pjrt::PjrtError& fault) {
  return {is_lost_peer(fault) ? kPodExit : kSystemExit, fault.what()};
} catch (const std::bad_alloc&) {
  return {kSystemExit, str("this machine does not have enough memory", kHintMark,
                           "lower the largest size that was given, such as the batch size")};
} catch (const std::exception& fault) {
  return {kSystemExit, fault.what()};
}

std::string_view exit_name(int code) {
  const auto* found = std::ranges::find(kExitCodes, code, &ExitCode::code);
  return found == kExitCodes.end() ? "signal" : found->name;
}

}  // namespace smelt::cli
