"""make_account_key.py FILE: writes a service account's key file with a new key that gives access to nothing."""
import json
import os
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                        serialization.NoEncryption()).decode()
account = {"type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": pem,
           "client_email": "builder@p.iam.gserviceaccount.com", "client_id": "2",
           "token_uri": "https://127.0.0.1:1/token"}
with open(sys.argv[1], "w") as file:
    json.dump(account, file)
os.chmod(sys.argv[1], 0o600)
