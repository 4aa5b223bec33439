"""Sends an email with Django and Anymail for each line of the standard input, as `api-clients.test.ts` describes them, and answers with a line."""
import base64
import datetime
import json
import os
import sys

import anymail
import django
import django.core.mail  # noqa: F401  What takes long to import is imported once.
import requests  # noqa: F401
from django.conf import settings


def send(given):
    service, key, url, email = given["service"], given["key"], given["url"], given["email"]
    settings.configure(
        EMAIL_BACKEND="anymail.backends.%s.EmailBackend" % service,
        USE_TZ=True,
        ANYMAIL={
            "%s_%s" % (service.upper(), "SERVER_TOKEN" if service == "postmark" else "API_KEY"): key,
            "%s_API_URL" % service.upper(): url,
            "SENDGRID_MERGE_FIELD_FORMAT": "{{{{{}}}}}",
        },
    )
    django.setup()

    from anymail.message import AnymailMessage  # noqa: E402  Django must be set up before.

    message = AnymailMessage(
        subject=email.get("subject", ""),
        body=email.get("text", ""),
        from_email=email["from"],
        to=email["to"],
        cc=email.get("cc"),
        bcc=email.get("bcc"),
        reply_to=email.get("replyTo"),
        headers=email.get("headers"),
    )
    html = email.get("html")
    for file in email.get("attachments", []):
        content = base64.b64decode(file["content"])
        if file.get("cid"):
            cid = message.attach_inline_image(content, filename=file["filename"])
            html = html.replace("cid:" + file["cid"], "cid:" + cid)
        else:
            message.attach(file["filename"], content, file["type"])
    if html:
        message.attach_alternative(html, "text/html")
    for name, value in {
        "tags": email.get("tags"),
        "metadata": email.get("metadata"),
        "template_id": email.get("template"),
        "merge_global_data": email.get("variables"),
        "merge_data": email.get("personal"),
        "merge_metadata": email.get("personalMetadata"),
        "track_opens": email.get("opens"),
        "track_clicks": email.get("clicks"),
    }.items():
        if value is not None:
            setattr(message, name, value)
    if "sendAt" in email:
        message.send_at = datetime.datetime.fromtimestamp(email["sendAt"], datetime.timezone.utc)

    answer = {"version": anymail.__version__}
    try:
        message.send()
        answer["statuses"] = {address: status.status for address, status in message.anymail_status.recipients.items()}
    except Exception as error:
        answer["error"] = str(error)
    return answer


for line in sys.stdin:
    # Settings cannot be changed once they are made: each email is sent by a process of its own.
    if os.fork() == 0:
        print(json.dumps(send(json.loads(line))), flush=True)
        os._exit(0)
    os.wait()
