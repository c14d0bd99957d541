#include "cli/cloud/cloud_job.h"

#include <signal.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "cli/cloud/job_recipe.h"
#include "cloud/file_hash.h"
#include "cloud/job_shell.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/oracle.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

// Returns the environment variables for compilation that programs on a worker share with the test.
// With the shared cache, a step that several tests run is compiled once.
std::string compile_variables() {
  std::string out;
  for (const char* name : {"SMELT_COMPILE_CACHE", "XLA_FLAGS"})
    if (const char* value = std::getenv(name)) out += str(" ", name, "=", value);
  return out;
}

}  // namespace

void CloudJob::SetUp() {
  REQUIRE_PLUGIN("cpu");
  REQUIRE_ORACLE();
  if (cloud::ssh_server_program().empty())
    SKIP_OR_FAIL_WITHOUT("sshd", "apt-get install openssh-server");
  if (!emulator_) emulator_ = std::make_unique<GcsEmulator>();
  emulator_->fault("[]");
  const std::string bucket = "http://" + emulator_->endpoint();
  endpoint_.emplace("CLOUD_STORAGE_EMULATOR_ENDPOINT", bucket);
  storage_.emplace("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", bucket);
  for (int worker = 0; worker < workers_; ++worker) io::make_folders(worker_home(worker));
  servers_ = std::make_unique<cloud::SshServers>(workers_, [&](int worker) {
    return str("HOME=", worker_home(worker),
               " GCE_METADATA_HOST=127.0.0.1:1 CLOUD_STORAGE_EMULATOR_ENDPOINT=", bucket,
               compile_variables(), " ", environment_of(worker));
  });
  fake_.addresses = servers_->addresses();
  fake_.host_keys = servers_->host_keys();
  fake_.completes_unasked = true;
  fake_.polls = 1;
  fake_.on_metadata = [this](const Json& metadata) { servers_->take(metadata); };
  write_inputs();
  write_package();
}

void CloudJob::TearDown() {
  kill_jobs();
  for (int worker = 0; worker < workers_; ++worker)
    if (const std::string guard = worker_home(worker) + "/.smelt-guard/pid"; io::exists(guard))
      ::kill(-std::stoi(io::read_file(guard)), SIGKILL);
}

void CloudJob::kill_jobs() const {
  for (int worker = 0; worker < workers_; ++worker)
    if (const std::string job = worker_home(worker) + "/.smelt-job/pid"; io::exists(job))
      ::kill(-std::stoi(io::read_file(job)), SIGKILL);
}

void CloudJob::write_inputs() const {
  std::string text;
  for (int document = 0; document < 40; ++document) {
    for (int i = 0; i < 8; ++i)
      text += str("the ", (document * i) % 3 == 0 ? "cat" : "dog", " sees house ", i % 5, ".\n");
    text += "\n";
  }
  io::write_file(home_.dir.file("text.txt"), text);
  io::write_file(recipe(),
                 str("text: {input: ", home_.dir.file("te*.txt"),
                     ", sentences: lines, dedup: none, heldout: 0.2}\nvocab: {size: 60}\n"
                     "data: {seq_length: 32, max_predictions: 5}\nmodel: {hidden_size: 16, "
                     "num_hidden_layers: 1, num_attention_heads: 2,\n  intermediate_size: 32, "
                     "max_position_embeddings: 32}\ntrain: {device: cpu, batch_size: 8, steps: 20, "
                     "schedule.warmup_steps: 2, checkpoint.save_interval_steps: 10, logging_steps: "
                     "10}\neval: {batch_size: 8}\n"));
}

void CloudJob::write_package() const {
  const std::string folder = home_.dir.file("pack/smelt/bin");
  io::make_folders(folder);
  io::write_file(folder + "/smelt", str("#!/bin/sh\nexec ", smelt_program(), " \"$@\"\n"));
  const CommandOutput packed =
      run_command(str("chmod +x ", folder, "/smelt && tar --zstd -C ", home_.dir.file("pack"),
                      " -cf ", package(), " smelt"));
  ASSERT_EQ(packed.status, 0) << packed.text;
}

std::string CloudJob::folder() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return str("gs://bucket/", test.test_suite_name(), "-", test.name());
}

cloud::JobSpec CloudJob::spec() const {
  cloud::JobSpec spec;
  spec.run = "abc123";
  spec.project = "p";
  spec.zones = {{cloud::kZone, 2.4}};
  spec.node = {"v3-8", "tpu-ubuntu2204-base", true};
  spec.folder = folder();
  spec.user = cloud::local_user();  // may be root, which only these servers accept
  spec.command = str("smelt run ", folder(), "/recipe.yaml");
  spec.package = package();
  spec.package_sha256 = cloud::file_sha256(package());
  spec.budget = 50;
  return spec;
}

JobLead CloudJob::lead(const std::vector<std::string>& settings, const std::string& type) const {
  cloud::JobSpec spec = this->spec();
  spec.node.accelerator_type = type;
  JobLead lead;
  lead.folder = spec.folder;
  lead.journal = [spec](const std::optional<std::string>&) {
    cloud::JobJournal journal;
    journal.spec = spec;
    return journal;
  };
  lead.out = out();
  lead.poll = 0.2;
  lead.ssh_config = servers_->config();
  std::vector<std::string> all{"out=" + out()};
  all.insert(all.end(), settings.begin(), settings.end());
  StagedRecipe staged = staged_recipe(pipeline::load_recipe(recipe(), all), spec.folder);
  staged.files.push_back({package(), cloud::staged_package(spec)});
  lead.stage = [staged, spec](const auto& tell, const auto&) {
    cloud::GoogleApi api = job_api();
    stage_files(api, staged.files, spec.folder, tell, [] {});
    io::write_file(spec.folder + "/recipe.yaml", staged.text);
  };
  return lead;
}

void CloudJob::preempt_in_the_middle() {
  while (!io::exists(folder() + "/run/model/checkpoint-10/COMMIT"))
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // The lock blocks the supervisor in a request to the API, so that it does nothing on the workers.
  const std::lock_guard lock(mutex_);
  for (const std::size_t before = guarded_.requests().size(); guarded_.requests().size() == before;)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill_jobs();
  fake_.preempt("smelt-abc123");
  for (int worker = 0; worker < workers_; ++worker)  // the next machine is a new one
    for (const char* each : {"/.smelt-job", "/.smelt-package"})
      io::remove_tree(worker_home(worker) + each);
  emulator_->fault("[]");
}

int CloudJob::count_requests(const std::string& method, const std::string& target) const {
  int count = 0;
  for (const ServedRequest& request : guarded_.requests())
    count += request.method == method && request.target.find(target) != std::string::npos;
  return count;
}

std::string pod_environment(const distributed::Pod& pod, int processes, int worker,
                            const std::string& hub) {
  std::string out = str("WORLD_SIZE=", processes, " RANK=", worker, " MASTER_ADDR=", hub);
  for (const auto& [name, value] : pod.variables(worker)) out += str(" ", name, "=", value);
  return out;
}

}  // namespace smelt::cli
