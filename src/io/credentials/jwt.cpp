#include "io/credentials/jwt.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"

namespace smelt::io {
namespace {

using Key = std::unique_ptr<::EVP_PKEY, decltype(&::EVP_PKEY_free)>;

// Parses a key that has no password. Without the callback, OpenSSL would prompt for a password on
// the terminal.
Key parse_key(const Secret& pem) {
  const std::unique_ptr<::BIO, decltype(&::BIO_free)> in(
      ::BIO_new_mem_buf(pem.reveal().data(), static_cast<int>(pem.reveal().size())), &::BIO_free);
  const auto no_password = [](char*, int, int, void*) { return -1; };
  return Key(::PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr), &::EVP_PKEY_free);
}

std::string signature(const Key& key, std::string_view text) {
  const std::unique_ptr<::EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context(::EVP_MD_CTX_new(),
                                                                            &::EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  CHECK(::EVP_DigestSignInit(context.get(), nullptr, ::EVP_sha256(), nullptr, key.get()) == 1 &&
        ::EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1);
  std::string out(size, '\0');
  CHECK(::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes,
                         text.size()) == 1);
  out.resize(size);
  return out;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string base64url(std::string_view bytes) {
  std::string out = base64(bytes);
  while (out.ends_with('=')) out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

Secret signed_claims(const Json& claims, const Secret& key_text, const std::string& key_id,
                     std::string_view what) {
  const Key key = parse_key(key_text);
  if (key == nullptr || ::EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA)
    throw UsageError(str(what, ": private_key is not an RSA key in PEM format without a password"),
                     "make a new key file in Google's console, or with 'gcloud iam "
                     "service-accounts keys create'");
  Json header{{"alg", "RS256"}, {"typ", "JWT"}};
  if (!key_id.empty()) header["kid"] = key_id;
  const std::string text = str(base64url(header.dump()), ".", base64url(claims.dump()));
  return Secret(str(text, ".", base64url(signature(key, text))));
}

}  // namespace smelt::io
