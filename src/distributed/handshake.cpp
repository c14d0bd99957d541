#include "distributed/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace smelt::distributed {
namespace {

constexpr const char* kMagic = "smelt pod";

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::optional<std::string> value_of(const PodFields& fields, const std::string& name) {
  const auto found = std::ranges::find(fields, name, &PodFields::value_type::first);
  return found == fields.end() ? std::nullopt : std::optional(found->second);
}

std::string differs(const Handshake& own, const Handshake& hello, const std::string& what,
                    const std::string& here, const std::string& there) {
  return str("pod: ", name_of(hello), " has ", what, " ", there, ", ", name_of(own), " has ", here);
}

std::optional<std::string> other_field(const Handshake& own, const Handshake& hello) {
  const auto said = [](const std::optional<std::string>& value) { return value.value_or("none"); };
  PodFields all = own.fields;
  all.insert(all.end(), hello.fields.begin(), hello.fields.end());
  for (const auto& [name, unused] : all) {
    const auto here = value_of(own.fields, name), there = value_of(hello.fields, name);
    if (here != there) return differs(own, hello, name, said(here), said(there));
  }
  return {};
}

}  // namespace

Handshake hello_of(const PodPlace& place, const PodFields& fields) {
  return {.rank = place.rank,
          .size = place.size,
          .incarnation = place.incarnation,
          .proof = {},
          .host = machine_name(),
          .pid = static_cast<int>(::getpid()),
          .fields = fields};
}

std::string encode(const Handshake& hello) {
  PayloadWriter out;
  out.text(kMagic).number(hello.protocol, 4);
  out.number(static_cast<std::uint64_t>(hello.rank), 4)
      .number(static_cast<std::uint64_t>(hello.size), 4);
  out.text(hello.incarnation).text(hello.proof).text(hello.host);
  out.number(static_cast<std::uint64_t>(hello.pid), 4).number(hello.fields.size(), 4);
  for (const auto& [name, value] : hello.fields) out.text(name).text(value);
  return out.take();
}

Handshake parse_hello(const std::string& payload) {
  PayloadReader in(payload);
  if (in.text() != kMagic) throw SystemError("pod: received a handshake that is not smelt's");
  Handshake out;
  out.protocol = static_cast<std::uint32_t>(in.number(4));
  if (out.protocol != kPodProtocol) return out;
  out.rank = static_cast<int>(in.number(4));
  out.size = static_cast<int>(in.number(4));
  out.incarnation = in.text();
  out.proof = in.text();
  out.host = in.text();
  out.pid = static_cast<int>(in.number(4));
  for (std::uint64_t left = in.number(4); left > 0; --left) {
    std::string name = in.text();
    out.fields.emplace_back(std::move(name), in.text());
  }
  return out;
}

std::string name_of(const Handshake& hello) {
  return str("host ", hello.rank, " (", hello.host, ", pid ", hello.pid, ")");
}

std::string proof_of(const std::string& secret, const std::string& nonce, int rank) {
  if (secret.empty()) return {};
  const std::string said = str(nonce, rank);
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int length = 0;
  ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(said.data()), said.size(), out.data(), &length);
  return {reinterpret_cast<const char*>(out.data()), length};
}

std::string new_nonce() {
  std::array<unsigned char, 16> bytes{};
  if (::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw SystemError("pod: cannot get random bytes from OpenSSL");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Refusal> refusal_of(const Handshake& own, const std::string& own_proof,
                                  const Handshake& hello) {
  const auto refuse = [](bool of_ours, const std::string& what, const char* hint) {
    return Refusal{str(what, "\n  hint: ", hint), of_ours};
  };
  if (hello.protocol != own.protocol)
    return refuse(false,
                  str("pod: a process uses version ", hello.protocol,
                      " of the pod's protocol, host 0 version ", own.protocol),
                  "run the same smelt on all hosts");
  if (hello.proof.size() != own_proof.size() ||
      ::CRYPTO_memcmp(hello.proof.data(), own_proof.data(), own_proof.size()) != 0)
    return refuse(false,
                  str("pod: ", name_of(hello), " has ", hello.proof.empty() ? "no" : "another",
                      " secret, ", name_of(own), own_proof.empty() ? " none" : " its own"),
                  "give all hosts the same SMELT_POD_SECRET, or none");
  if (hello.incarnation != own.incarnation && !hello.incarnation.empty() &&
      !own.incarnation.empty())
    return refuse(false, differs(own, hello, "the start", own.incarnation, hello.incarnation),
                  "end the processes of the earlier start");
  if (hello.size != own.size)
    return refuse(true,
                  differs(own, hello, "a pod of", str(own.size), str(hello.size, " processes")),
                  "start all with the same number of processes");
  if (hello.rank < 0 || hello.rank >= own.size)
    return refuse(true, str("pod: ", name_of(hello), " is not one of hosts 0 to ", own.size - 1),
                  "number the processes from 0");
  if (const auto other = other_field(own, hello))
    return refuse(true, *other, "start the same smelt with the same files on all hosts");
  return {};
}

}  // namespace smelt::distributed
