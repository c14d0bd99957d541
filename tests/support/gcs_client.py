"""Reads and writes an emulator's bucket with Google's official client.

gcs_client.py ENDPOINT BUCKET list                 names and sizes, one object a line
gcs_client.py ENDPOINT BUCKET get NAME FILE        the object's bytes into a file
gcs_client.py ENDPOINT BUCKET put NAME FILE …      a file's bytes into the object, for each pair
gcs_client.py ENDPOINT BUCKET put-gzip NAME FILE … the same compressed, with Content-Encoding gzip (gsutil cp -Z)
"""
import gzip
import sys

from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage


def main():
    endpoint, bucket_name, action, *rest = sys.argv[1:]
    client = storage.Client(project="test", credentials=AnonymousCredentials(),
                            client_options=ClientOptions(api_endpoint=endpoint))
    bucket = client.bucket(bucket_name)
    if action == "list":
        for blob in client.list_blobs(bucket):
            print(blob.name, blob.size)
    elif action == "get":
        bucket.blob(rest[0]).download_to_filename(rest[1])
    else:
        for name, path in zip(rest[::2], rest[1::2]):
            blob = bucket.blob(name)
            if action == "put":
                blob.upload_from_filename(path)
                continue
            blob.content_encoding = "gzip"
            with open(path, "rb") as file:
                blob.upload_from_string(gzip.compress(file.read()), content_type="text/plain")


main()
