"""Receives a report on TLS: checks its signature as one of a report (RFC 8460 3), with the keys of argv, and prints what it says."""
import email
import email.policy
import gzip
import json
import sys

import dkim

keys = json.loads(sys.argv[1])
message = sys.stdin.buffer.read()


def key_of(name, timeout=5):
    return keys.get(name.decode().rstrip("."), "").encode()


verifier = dkim.DKIM(message, tlsrpt=True)
signed = [verifier.verify(idx=i, dnsfunc=key_of) for i in range(2)]
parsed = email.message_from_bytes(message, policy=email.policy.default)
text, attached = parsed.iter_parts()
report = json.loads(gzip.decompress(attached.get_content()))
print(
    json.dumps(
        {
            "signed": signed,
            "domain": verifier.domain.decode(),
            "type": parsed.get_content_type(),
            "report_type": parsed.get_param("report-type"),
            "part": attached.get_content_type(),
            "file": attached.get_filename(),
            "defects": [str(defect) for part in parsed.walk() for defect in part.defects],
            "policies": report["policies"],
        }
    )
)
