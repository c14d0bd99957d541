// The first message of a process to the coordination server, and the check whether it may join.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination_service.h"
#include "distributed/frame.h"

namespace smelt::distributed {

struct Handshake {
  std::uint32_t protocol = kPodProtocol;
  int rank = 0, size = 1;
  std::string incarnation;
  std::string proof;  // proof_of(secret, the server's nonce, rank)
  std::string host;   // this machine's name
  int pid = 0;
  PodFields fields;
};

Handshake hello_of(const PodPlace& place, const PodFields& fields);
std::string encode(const Handshake& hello);
// Decodes a handshake. If the protocol number differs, only that number is read. Throws SystemError
// if the payload is not a handshake.
Handshake parse_hello(const std::string& payload);

// Returns the name of a process in messages: "host 2 (t1v-w-2, pid 812)".
std::string name_of(const Handshake& hello);

// Returns the HMAC-SHA256 of nonce and rank under the secret, so that the secret is never sent.
// Returns "" if the secret is empty.
std::string proof_of(const std::string& secret, const std::string& nonce, int rank);
std::string new_nonce();

// The reason why a process may not join the run.
struct Refusal {
  std::string text;      // error message with its hint
  bool of_ours = false;  // the process belongs to this run, so the run cannot begin
};
// Returns why the process with handshake `hello` may not join, or nullopt if it may. `own` is rank
// 0's handshake, and `own_proof` the proof that `hello` must contain.
std::optional<Refusal> refusal_of(const Handshake& own, const std::string& own_proof,
                                  const Handshake& hello);

}  // namespace smelt::distributed
