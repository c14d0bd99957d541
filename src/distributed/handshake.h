// Who comes to the hub, and whether it belongs there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination_service.h"
#include "distributed/frame.h"

namespace smelt {

struct Handshake {
  std::uint32_t protocol = kPodProtocol;
  int rank = 0, size = 1;
  std::string incarnation;
  std::string proof;  // proof_of(secret, the hub's nonce, rank)
  std::string host;   // this machine's name
  int pid = 0;
  PodFields fields;
};

Handshake hello_of(const PodPlace& place, const PodFields& fields);
std::string encode(const Handshake& hello);
// A frame of another protocol is read no further than its number. SystemError: no hello.
Handshake parse_hello(const std::string& payload);

// "host 2 (t1v-w-2, pid 812)".
std::string name_of(const Handshake& hello);

// HMAC-SHA256 of nonce and rank, so that the secret itself is never sent. Empty without a secret.
std::string proof_of(const std::string& secret, const std::string& nonce, int rank);
std::string new_nonce();

// Why a process that says so may not join the run of `own`, the hub's process.
struct Refusal {
  std::string text;      // one message, with its hint
  bool of_ours = false;  // it is of this run, which cannot begin so
};
std::optional<Refusal> refusal_of(const Handshake& own, const std::string& own_proof,
                                  const Handshake& hello);

}  // namespace smelt
