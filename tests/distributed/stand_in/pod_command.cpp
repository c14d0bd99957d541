#include "distributed/stand_in/pod_command.h"

#include <unistd.h>

namespace smelt::distributed {

void PodCommand::write_recipe(const std::string& type, int devices, int steps) const {
  std::string text;
  for (int d = 0; d < 24; ++d)
    text += str("the cat sees a dog and ", d, " birds\na dog likes the cat ", d,
                " times\nsome birds follow a small river\n\n");
  io::write_file(dir_.file("text.txt"), text);
  const bool electra = type == "electra";
  io::write_file(
      recipe(), str("text: {input: ", dir_.file("text.txt"),
                    ", sentences: lines, dedup: none, heldout: 0.3}\nvocab: {size: 60}\n",
                    electra ? "data: {seq_length: 16}\n"
                            : "data: {seq_length: 16, max_predictions: 3, dupe_factor: 2}\n",
                    "model: {", electra ? "type: electra, embedding_size: 8, " : "",
                    "hidden_size: 16, num_hidden_layers: 2, num_attention_heads: 2,\n"
                    "  intermediate_size: 16, max_position_embeddings: 16, type_vocab_size: 2}\n"
                    "train: {device: cpu, devices: ",
                    devices, ", batch_size: 8, steps: ", steps,
                    ", checkpoint.save_interval_steps: 2, logging_steps: 1}\neval: {batch_size: 8, "
                    "every: 4}\n"));
}

std::vector<std::string> PodCommand::smelt(const std::vector<std::string>& arguments,
                                           int processes) {
  std::vector<std::string> out{smelt_program()};
  out.insert(out.end(), arguments.begin(), arguments.end());
  for (const std::string& word :
       {std::string("--processes"), str(processes), std::string("--process"),
        std::string("{process}"), std::string("--hub"), std::string("{hub}")})
    out.push_back(word);
  return out;
}

std::vector<std::string> PodCommand::run(const std::string& out, int processes,
                                         std::vector<std::string> more) const {
  std::vector<std::string> arguments{"run", recipe(), "--set", "out=" + dir_.file(out)};
  for (std::string& one : more) {
    arguments.emplace_back("--set");
    arguments.push_back(std::move(one));
  }
  return smelt(arguments, processes);
}

void PodCommand::run_alone(const std::string& out, const std::string& more) const {
  const CommandOutput done =
      run_smelt(str("run ", recipe(), " --set out=", dir_.file(out), " ", more));
  ASSERT_EQ(done.status, 0) << done.text;
}

void PodCommand::expect_same_files(const std::string& a, const std::string& b) const {
  const auto names = io::list_folder(dir_.file(a));
  EXPECT_EQ(names, io::list_folder(dir_.file(b)));
  EXPECT_FALSE(names.empty()) << a;
  for (const std::string& name : names)
    EXPECT_EQ(io::read_file(dir_.file(a + "/" + name)), io::read_file(dir_.file(b + "/" + name)))
        << name;
}

namespace {

bool waits_until(Pod& pod, int process, const std::function<bool()>& is_so) {
  for (;;) {
    const bool runs = pod.is_running(process);
    if (is_so()) return true;
    if (!runs) return false;
    ::usleep(20000);
  }
}

}  // namespace

bool PodCommand::waits_for(Pod& pod, int process, const std::string& text) {
  return waits_until(pod, process,
                     [&] { return pod.said(process).find(text) != std::string::npos; });
}

bool PodCommand::waits_for_file(Pod& pod, int process, const std::string& path) {
  return waits_until(pod, process, [&] { return io::exists(path); });
}

}  // namespace smelt::distributed
