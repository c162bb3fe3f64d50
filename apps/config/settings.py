"""Django's settings, read from the environment here and nowhere else (docs/operations.md lists them all)."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from apps.config.embedded.places import Places
from apps.config.environment import Environment, SettingError, database_entry, kept_secret

env = Environment()

VERSION = version("inferometer")
BASE_DIR = Path(__file__).resolve().parent.parent.parent

# Where everything that is made at run time lives: data, logs, secrets, collected static files.
VAR_DIR = env.path("INFEROMETER_VAR", BASE_DIR / "var")
EMBEDDED = Places(VAR_DIR)

# How it is reached. The public URL is what people type; its scheme says whether a proxy in front speaks https.
BIND = env.text("INFEROMETER_BIND", "127.0.0.1")
PORT = env.whole("INFEROMETER_PORT", 8800, least=1, most=65535)
PUBLIC_URL = env.url("INFEROMETER_PUBLIC_URL", "", ("http", "https")).rstrip("/")
WEB_WORKERS = env.whole("INFEROMETER_WEB_WORKERS", 2, least=1, most=64)
TASK_WORKERS = env.whole("INFEROMETER_TASK_WORKERS", 2, least=1, most=64)
HTTPS = PUBLIC_URL.startswith("https://")
DEMO = env.flag("DEMO", False)
DEBUG = env.flag("INFEROMETER_DEBUG", False)

ALLOWED_HOSTS = [
    *["localhost", "127.0.0.1", "[::1]", f"[{BIND}]" if ":" in BIND else BIND],
    *([urlsplit(PUBLIC_URL).hostname or ""] if PUBLIC_URL else []),
    *env.words("ALLOWED_HOSTS"),
]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []

SECRET_KEY = env.secret("SECRET_KEY") or kept_secret(VAR_DIR / "secret-key")
# Keys the hash under which end users are stored; another value makes the same person look like two.
END_USER_KEY = env.secret("END_USER_KEY") or kept_secret(VAR_DIR / "end-user-key")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "apps.accounts",
    "apps.catalog",
    "apps.ingest",
    "apps.rollups",
    "apps.attribution",
    "apps.dashboard",
    "apps.api",
    "apps.config",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "apps.config.security.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "apps.dashboard.middleware.ViewerMiddleware",
]
ROOT_URLCONF = "apps.config.urls"
WSGI_APPLICATION = "apps.config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# Database. Without DATABASE_URL the embedded server, started by whoever first connects.
_database_url = env.url("DATABASE_URL", "", ("postgresql", "postgres"))
EMBEDDED_POSTGRES = not _database_url
DATABASES: dict[str, dict[str, object]] = {
    "default": {
        **database_entry(_database_url or EMBEDDED.database_url),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "TEST": {"NAME": "test_" + env.text("INFEROMETER_TEST_DB", "inferometer")},
    }
}
if EMBEDDED_POSTGRES:
    DATABASES["default"] |= {"ENGINE": "apps.config.embedded.database", "EMBEDDED": EMBEDDED}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Broker and cache. The cache shares the broker's server when that is a Redis or Valkey.
_REDIS = ("redis", "rediss", "redis+socket", "unix")
_broker_url = env.url("BROKER_URL", "", (*_REDIS, "amqp", "amqps", "sentinel"))
EMBEDDED_VALKEY = not _broker_url
CELERY_BROKER_URL = _broker_url or EMBEDDED.broker_url
_cache_url = env.url("CACHE_URL", CELERY_BROKER_URL, (*_REDIS, "amqp", "amqps", "sentinel"))
if not _cache_url.startswith(_REDIS):
    raise SettingError("CACHE_URL must name a Redis or Valkey server when BROKER_URL names something else.")
CACHES: dict[str, dict[str, object]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": _cache_url.replace("redis+socket://", "unix://", 1),
        "KEY_PREFIX": "inferometer",
    }
}
if EMBEDDED_VALKEY and _cache_url == CELERY_BROKER_URL:
    CACHES["default"] |= {"BACKEND": "apps.config.embedded.cache.EmbeddedCache", "OPTIONS": {"places": EMBEDDED}}

CELERY_TASK_DEFAULT_QUEUE = "inferometer"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 3600
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 600_000  # KiB
CELERY_WORKER_REDIRECT_STDOUTS = False
# A worker of its own keeps scraping on time while the others are busy with a long hour.
CELERY_TASK_ROUTES = {"apps.ingest.tasks.scrape_targets": {"queue": "scrape"}}
CELERY_WORKER_SEND_TASK_EVENTS = False

# How long records are kept. Facts and the ledger stay.
REQUEST_RETENTION_DAYS = env.whole("REQUEST_RETENTION_DAYS", 90, least=8)
ENGINE_RETENTION_DAYS = env.whole("ENGINE_RETENTION_DAYS", 400, least=8)
INGEST_BODY_LIMIT_BYTES = env.whole("INGEST_BODY_LIMIT_BYTES", 64 << 20, least=1 << 20)

# People.
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
FIRST_ADMIN_PASSWORD = env.secret("INFEROMETER_FIRST_ADMIN_PASSWORD")
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Browsers. Cookies carry a name of their own: other products on localhost share the jar.
SESSION_COOKIE_NAME = "inferometer_session"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_NAME = "inferometer_csrf"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin" if HTTPS else None  # browsers ignore it, loudly, on plain http
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

# Language and time: everything is stored and shown in UTC.
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# Static files: ours, and the two scripts that packages bring along. Named by content, compressed once.
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "apps.config.package_files.PackageFilesFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "apps.config.static_storage.StaticStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.api.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "apps.api.errors.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

# Logs: what happened and where, never what was in a request.
LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "{asctime} {levelname:<7} {name}: {message}", "style": "{", "datefmt": "%H:%M:%S"}
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "stream": sys.stderr, "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": ["console"], "level": LOG_LEVEL, "propagate": False},
        # These two print whole statements, or a line for every tick of the timetable.
        "django.db.backends": {"level": "WARNING"},
        "celery.worker.request": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}
