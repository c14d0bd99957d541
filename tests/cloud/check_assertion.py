"""check_assertion.py KEY.json: verifies the JWT on standard input with the public half of the account's key and prints
its header and claims."""
import json
import sys

import google.auth.jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
import datetime

account = json.load(open(sys.argv[1]))
private = serialization.load_pem_private_key(account["private_key"].encode(), None)
now = datetime.datetime.now(datetime.timezone.utc)
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(private.public_key())
               .serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
               .not_valid_after(now + datetime.timedelta(days=1)).sign(private, hashes.SHA256()))
token = sys.stdin.read().strip()
claims = google.auth.jwt.decode(token, certs=certificate.public_bytes(serialization.Encoding.PEM),
                                audience=account["token_uri"])
print(json.dumps({"header": google.auth.jwt.decode_header(token), "claims": claims}))
