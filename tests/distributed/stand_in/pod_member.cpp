// The program that tests run as each process of a pod or, for comparison, as a single process with
// all of the pod's devices:
//   facts                                    prints all devices and their processes
//   train DEVICES MESH FORM STEPS [DIE_AT]   trains a small BERT; prints losses and a hash of each
//                                            tensor; process 1 exits before step DIE_AT
//   job FOLDER MODEL STEPS DEVICES MESH FORM [WHAT [AT]]
//                                            calls train(); connects to the CoordinationService at
//                                            POD_HUB if that variable is set
//   order NAMES...                           launches the programs that the letters of NAMES name,
//                                            such as abcb, in that order; of several arguments,
//                                            process p takes argument p modulo their number
// FORM: unrolled (CPU settings) or scan (TPU settings, f32); for job also tpu (as scan, on device
// tpu). WHAT is one of:
//   die, stop         process 1 exits, or gets a signal, at step AT
//   another           process 1 has another seed
//   longer            process 1 has twice as many steps
//   packed            all processes pack the examples
//   validate          all processes evaluate
//   cut               all evaluate, and process 1 gets a signal as the evaluation of step AT begins
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/error.h"
#include "execution/train_state/compiled_step.h"
#include "io/formats/crc32c.h"
#include "runs/golden_bert.h"
#include "runs/mesh_bert.h"
#include "runs/small_run.h"

namespace smelt::distributed {
namespace {

int process() {
  const char* process = std::getenv("POD_PROCESS");
  return process == nullptr ? 0 : std::atoi(process);
}

void say_facts() {
  const auto client = pjrt::open_device("cpu");
  std::cout << "process " << client->process_index() << " of " << client->process_count() << "\n";
  for (int device = 0; device < client->device_count(); ++device)
    std::cout << client->id_of(device) << "@" << client->process_of(device) << " ";
  std::cout << "\nown";
  for (const int device : client->own_devices()) std::cout << " " << client->id_of(device);
  std::cout << "\n";
}

model::BertTask small_bert() {
  model::BertTask bert = mesh_bert();
  bert.model.vocab_size = 64;
  bert.model.hidden_size = 16;
  bert.model.num_attention_heads = 4;
  bert.model.intermediate_size = 32;
  return bert;
}

void say_state(const char* name, const execution::HostState& state) {
  for (const auto& [tensor, sliced] : state.tensors)
    for (const checkpoint::TensorSlice& slice : sliced.slices) {
      const std::string_view bytes(reinterpret_cast<const char*>(slice.part.data.data()),
                                   slice.part.data.size());
      std::cout << name << " " << tensor
                << checkpoint::slice_text(slice.begin, slice.part.shape.dims) << " "
                << io::hex_text(io::crc32c(bytes)) << "\n";
    }
}

data::Batch own_rows(const data::Batch& batch, const data::HostShare& share) {
  const std::int64_t rows = batch.rows / share.hosts;
  return rows_of(batch, share.host * rows, (share.host + 1) * rows);
}

void train_here(int devices, const std::string& mesh, const std::string& form, int steps,
                int die_at) {
  const auto client = pjrt::open_device("cpu", devices);
  model::TrainingConfig config = mesh_config(devices);
  config.batch_size = 8;
  config.takes_wishes = true;
  if (form == "scan")
    config.compute = model::compute_for("tpu", {.precision = model::Precision::f32_exact});
  const model::Task task = model::bert_task(small_bert());
  const model::ShardingPlan placement = model::placement_for(
      "cpu", devices, model::Reduction::global,
      model::partition_for({.mesh = mesh == "replicas" ? "auto" : mesh}, devices));
  const model::StepProgram program = model::train_program(task, config, placement);
  const execution::CompiledStep step(client, program);
  execution::ModelState state =
      execution::ModelState::fresh(*client, placement, program.state, config.seed);
  std::vector<pjrt::Buffer> reports;
  std::optional<execution::StateCopy> copy;
  for (int i = 0; i < steps; ++i) {
    if (i == die_at && process() == 1) ::_exit(9);
    const data::Batch batch = own_rows(mesh_batch(task.features, config.batch_size, 1 + i),
                                       execution::own_share(placement, *client));
    pjrt::Execution execution = step.run(batch, state, i, {.stop = i == 1 && process() == 1});
    state.replace(execution.results);
    reports.push_back(std::move(execution.results.front().back()));
    if (i == 0) copy.emplace(state.start_copy());  // before the next step donates these buffers
  }
  for (const pjrt::Buffer& buffer : reports) {
    const std::vector<float> report = buffer.to_host<float>();
    std::printf("loss %a\n", report[0]);
    if (report[3] > 0) std::printf("%g devices wish to stop\n", report[3]);
  }
  std::fflush(stdout);
  say_state("first", copy->take());
  say_state("last", state.download());
}

train::TrainJob job_of(const std::vector<std::string>& words) {
  train::TrainJob job = small_job(words.at(1), words.at(2), std::stoi(words.at(3)));
  job.on.devices = job.config.devices = std::stoi(words.at(4));
  if (words.at(5) != "replicas") job.on.mesh.mesh = words[5];
  if (words.at(6) != "unrolled")
    job.config.compute = model::compute_for("tpu", {.precision = model::Precision::f32_exact});
  if (words.at(6) == "tpu") job.on.device = "tpu";
  job.check_every = 2;
  const std::string what = words.size() < 8 ? "" : words[7];
  if (what == "cut" || what == "validate")
    job.validation =
        execution::HeldOut{.data = job.data, .batch_size = 8, .steps = 20, .repeats = true};
  if (what == "packed") job.config.packing = model::PackingMode::on;
  if (process() != 1) return job;
  if (what == "another") job.config.seed = 7;
  if (what == "longer") job.config.schedule.total_steps *= 2;
  const int at = words.size() < 9 ? -1 : std::stoi(words[8]);
  job.checked = [what, at](const train::TrainCheck& check) {
    if (check.step != at) return;
    if (what == "die") ::_exit(9);
    if (what == "stop") std::raise(SIGTERM);
  };
  if (what != "cut") return job;
  job.together = train::current_process_group("train");
  job.together.set_status = [at](const std::string& status) {
    if (status == str("the evaluation of step ", at)) std::raise(SIGTERM);
  };
  return job;
}

void train_as(const std::vector<std::string>& words) {
  if (train::train(job_of(words)).signalled) std::cerr << "signalled after the last step\n";
}

void run_job(const std::vector<std::string>& words) {
  const pjrt::ClientCache clients;
  const char* address = std::getenv("POD_HUB");
  if (address == nullptr) {
    train_as(words);
    return;
  }
  const std::shared_ptr<CoordinationService> hub = CoordinationService::connect(
      {.address = address, .rank = process(), .size = std::atoi(std::getenv("POD_SIZE"))}, {});
  const train::ProcessGroupScope together(hub);
  try {
    train_as(words);
  } catch (const UsageError& error) {
    constexpr int kUsage = 2;
    hub->abort(error.what(), kUsage);
    throw;
  } catch (const Stopped&) {
    hub->bye();
    throw;
  }
  hub->bye();
}

// Each letter is a program over all devices that adds the letter's position (a: 0) to a number.
void launch_in_order(const std::string& names) {
  const auto client = pjrt::open_device("cpu");
  pjrt::CompileOptions options;
  options.num_replicas = client->device_count();
  std::map<char, pjrt::Executable> programs;
  const auto text = [&](char name) {
    return str("module @m attributes {mhlo.num_replicas = ", client->device_count(),
               " : i32, mhlo.num_partitions = 1 : i32} {\n  func.func public @main(%arg0: "
               "tensor<f32> {tf.aliasing_output = 0 : i32}) -> (tensor<f32>) {\n    %c = "
               "stablehlo.constant dense<",
               name - 'a',
               ".0> : tensor<f32>\n    %r = stablehlo.add %arg0, %c : tensor<f32>\n"
               "    func.return %r : tensor<f32>\n  }\n}\n");
  };
  std::vector<pjrt::Buffer> values;
  for (const int device : client->own_devices())
    values.push_back(pjrt::to_device<float>(*client, {0}, {compiler::DType::f32, {}}, device));
  for (const char name : names) {
    const auto& program =
        programs.try_emplace(name, client->compile(text(name), options)).first->second;
    std::vector<std::vector<const pjrt::Buffer*>> arguments;
    for (const pjrt::Buffer& value : values) arguments.push_back({&value});
    pjrt::Execution execution = program.execute(arguments);
    CHECK(values[0].deleted());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::move(execution.results[i][0]);
  }
  for (const pjrt::Buffer& value : values) std::cout << value.to_host<float>()[0] << "\n";
}

void run(const std::vector<std::string>& words) {
  const std::string& what = words.at(0);
  if (what == "facts") say_facts();
  if (what == "job") run_job(words);
  if (what == "order")
    launch_in_order(words.at(1 + static_cast<std::size_t>(process()) % (words.size() - 1)));
  if (what == "train")
    train_here(std::stoi(words.at(1)), words.at(2), words.at(3), std::stoi(words.at(4)),
               words.size() > 5 ? std::stoi(words[5]) : -1);
}

}  // namespace
}  // namespace smelt::distributed

int main(int count, char** words) try {
  smelt::distributed::run({words + 1, words + count});
} catch (const smelt::UsageError& error) {
  std::cerr << error.what() << "\n";
  return 2;
} catch (const smelt::Stopped& error) {
  std::cerr << error.what() << "\n";
  return 75;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
