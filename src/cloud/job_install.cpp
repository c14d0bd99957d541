// The steps of a job until its machine can train, and the replacement of machines that fail.
#include <algorithm>

#include "base/error.h"
#include "cloud/google_api.h"
#include "cloud/job.h"
#include "cloud/tpu_fault.h"

namespace smelt::cloud {

bool Job::is_given_up(const std::string& why) {
  if (++journal_.fruitless < journal_.spec.attempts) return false;
  fail(str(journal_.fruitless, " machines and starts in a row without a new checkpoint; ", why));
  return true;
}

// Handles a failed attempt to use the machine. Replaces the machine if a series of attempts has
// failed for JobTimes::useless seconds. A failure begins a new series if the attempt began long
// after the previous failure.
void Job::useless(const std::string& why) {
  const double now = world_.now();
  if (useless_since_ == 0 || began_ - failed_at_ > world_.times.apart + world_.times.poll)
    useless_since_ = now;
  failed_at_ = now;
  if (now - useless_since_ < world_.times.useless) return report_error(first_line(why));
  machines_.remove();  // if this fails, the next attempt uses the same machine
  if (is_given_up(first_line(why))) return;
  lost(str("the machine cannot be used (", first_line(why), ")"));
}

// Returns the limits of the next part and moves the deadline, so that the machine does not delete
// itself while the leader waits for it, even with a short --silence.
JobWorkers::Part Job::next_part(double wanted) {
  const double now = world_.now();
  const double at_most = std::min(wanted, time_to_close(journal_, world_.times, now).seconds);
  if (at_most <= 0) throw SystemError("not enough time or budget left for the installation");
  const double left = seconds_left(journal_, now, at_most + world_.times.apart);
  journal_.machines.back().deadline = now + left;
  try {
    save();
  } catch (const Stopped&) {
    throw;
  } catch (const BugError&) {
    throw;
  } catch (const io::CredentialsRefused&) {
    throw;
  } catch (const Error& error) {  // an error of the bucket, not of the machine
    report_error(first_line(error.what()));
  }
  return {at_most, left};
}

// Records whether the machine can delete itself, and warns if it cannot.
void Job::judge_switch(const TpuNode& node) {
  const auto may = world_.workers.may_delete_itself(node);
  journal_.machines.back().stays = may == false;
  if (may == false)
    tell(
        "the machine's account may not delete it (roles/tpu.admin): without a supervisor the job "
        "ends, but the machine keeps costing money until somebody deletes it");
  if (!may)
    tell(str(
        "cannot check whether the machine's service account may delete it (to enable the check: "
        "gcloud services enable cloudresourcemanager.googleapis.com --project=",
        journal_.spec.project, ")"));
}

void Job::install() {
  constexpr const char* kLost = "the machine is lost";
  const auto node = machines_.current();
  if (!node && useless_since_ > 0 && is_given_up(kLost)) return;
  if (!node) return lost(kLost);
  if (node->addresses.empty())
    return useless(str(node->name, " in ", node->zone, " has no addresses yet"));
  try {
    world_.workers.install(*node, [this](double wanted) { return next_part(wanted); });
    judge_switch(*node);
  } catch (const Stopped&) {
    throw;
  } catch (const SystemError& error) {
    return useless(error.what());
  } catch (const io::CredentialsRefused&) {
    // Waits for the user to sign in; if the machine disappears meanwhile, that counts as a failure.
    if (useless_since_ == 0) useless_since_ = world_.now();
    throw;
  } catch (const OtherRefusal& error) {
    return useless(error.what());
  } catch (const UsageError& error) {
    if (machines_.current()) return fail(error.what());
    if (is_given_up(kLost)) return;
    return lost(kLost);
  }
  useless_since_ = 0;
  was_reached_ = true;
  go(JobStep::train);
}

}  // namespace smelt::cloud
