"""The WSGI application that a web server runs."""

import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "apps.config.settings")

application = get_wsgi_application()
# Before the server forks: its workers share the memory, and the first visitor does not wait.
import_module("apps.config.urls")
