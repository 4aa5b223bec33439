# Django with Anymail's webhook views, as an app has them. Says its port, reads its settings from one line of standard input, and
# then tells each event that Anymail understood in a line of JSON.
import json
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from django.conf import settings

settings.configure(ALLOWED_HOSTS=["*"], SECRET_KEY="test", ROOT_URLCONF="anymail.urls", INSTALLED_APPS=["anymail"], ANYMAIL={})
django.setup()

from anymail.signals import tracking
from django.core.wsgi import get_wsgi_application


def tell(sender, event, esp_name, **kwargs):
    names = ["event_type", "message_id", "recipient", "reject_reason", "metadata", "tags", "click_url", "mta_response", "event_id", "user_agent"]
    told = {name: getattr(event, name) for name in names}
    timestamp = event.timestamp and event.timestamp.timestamp()
    print(json.dumps({"service": esp_name, "timestamp": timestamp, **told}, default=str), flush=True)


tracking.connect(tell)


class Quiet(WSGIRequestHandler):
    def log_message(self, *args):
        pass


server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
print(server.server_port, flush=True)
settings.ANYMAIL = json.loads(sys.stdin.readline())
server.serve_forever()
