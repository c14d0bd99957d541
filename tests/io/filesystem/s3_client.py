"""Uses a bucket of an emulator with Amazon's official client.

s3_client.py ENDPOINT BUCKET make                 makes the bucket
s3_client.py ENDPOINT BUCKET list                 names and sizes, one object a line
s3_client.py ENDPOINT BUCKET get NAME FILE        the object's bytes into a file
"""
import sys

import boto3


def main():
    endpoint, bucket, action, *rest = sys.argv[1:]
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1",
                          aws_access_key_id="AKIATEST", aws_secret_access_key="SECRET")
    if action == "make":
        client.create_bucket(Bucket=bucket)
    elif action == "list":
        for item in client.list_objects_v2(Bucket=bucket).get("Contents", []):
            print(item["Key"], item["Size"])
    else:
        client.download_file(bucket, rest[0], rest[1])


main()
