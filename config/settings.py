"""Settings: every environment variable is read here, once, with a cast.

Feature code reads `django.conf.settings`; wrong settings fail in system checks.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from config.beat import CELERY_BEAT_SCHEDULE  # noqa: F401  # settings
from config.env import env
from config.spectacular import SPECTACULAR_SETTINGS  # noqa: F401  # settings
from config.unfold import FORMAT_MODULE_PATH, UNFOLD  # noqa: F401  # settings
from tenants.categories import Priority

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY: str = env.str("SECRET_KEY")
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=[])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# Where browsers reach the pages for people, `https://notify.example` without a path:
# what links in messages begin with. Without it messages have none.
PUBLIC_URL: str = env.str("PUBLIC_URL", default="").rstrip("/")

# Keys that wrap the tenants' data keys: "id:base64,id:base64", the first one seals.
SEALING_KEYS: list[str] = env.list("SEALING_KEYS")
# Secrets that sign end users' tokens, the first one signs and all of them verify.
USER_TOKEN_SECRETS: list[str] = env.list("USER_TOKEN_SECRETS")

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "config.apps.ConsoleConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "tenants",
    "audit",
    "providers",
    "templates",
    "preferences",
    "inbox",
    "notifications",
]

MIDDLEWARE = [
    "config.observability.RequestIdMiddleware",
    "config.body_length.require_length",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# -- PostgreSQL ---------------------------------------------------------------
# The role `app` runs; the owner migrates (`manage.py migrate --database owner`).


def _database(url: str, *, pool: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        # None, Django's default, makes psycopg ignore prepare=True: a parse and a
        # plan for every acceptance, 1.4 to 1.6 times slower end to end.
        "prepare_threshold": 1,
        "options": "-c statement_timeout=10s -c lock_timeout=2s"
        " -c idle_in_transaction_session_timeout=10s",
        "application_name": env.str("ROLE_NAME", default="web"),
        # A server that vanished without a word is noticed within half a minute.
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }
    if pool:
        options["pool"] = {
            "min_size": 1,
            "max_size": env.int("DATABASE_POOL_SIZE", default=16),
            "timeout": 3,
        }
    return {**env.db_url_config(url), "OPTIONS": options}


_DATABASE_URL: str = env.str("DATABASE_URL")
_OWNER_URL: str = env.str("DATABASE_OWNER_URL", default="")
DATABASES: dict[str, dict[str, Any]] = {
    "default": _database(_DATABASE_URL, pool=env.bool("DATABASE_POOL", default=False)),
}
if _OWNER_URL:
    DATABASES["owner"] = _database(_OWNER_URL, pool=False)
    DATABASES["owner"]["OPTIONS"]["options"] = "-c lock_timeout=5s"
    # Tests make and migrate the database as the owner and run as `app`.
    DATABASES["default"]["TEST"] = {"MIRROR": "owner"}
DATABASE_APP_ROLE = env.str("DATABASE_APP_ROLE", default="app")

# -- Valkey and Celery ----------------------------------------------------------

REDIS_URL: str = env.str("REDIS_URL")
# Begins every key, where several installations share a server.
_KEY_PREFIX = env.str("CACHE_KEY_PREFIX", default="notify")
VALKEY_PREFIX = f"{_KEY_PREFIX}:"
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": _KEY_PREFIX,
        "TIMEOUT": 300,
        "OPTIONS": {
            # The cache holds nothing that is true: without it we go on, slower.
            "IGNORE_EXCEPTIONS": True,
            "SOCKET_CONNECT_TIMEOUT": 0.5,
            "SOCKET_TIMEOUT": 0.5,
        },
    },
}
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_TIME_LIMIT = 120
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True

# -- HTTP ---------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["tenants.permissions.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["config.json_body.StrictJSONParser"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.problem_details.handle_exception",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024

LOGGING_CONFIG = "config.observability.configure_logging"
LOGGING = {"level": env.str("LOG_LEVEL", default="INFO")}

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# TLS ends at the proxy in production; the demo speaks plain HTTP on loopback.
_HTTPS = env.bool("HTTPS", default=True)
SESSION_COOKIE_SECURE = _HTTPS
CSRF_COOKIE_SECURE = _HTTPS
SECURE_SSL_REDIRECT = _HTTPS
SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _HTTPS
SECURE_HSTS_PRELOAD = _HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None

LOGIN_REDIRECT_URL = "/admin/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Where relay and consumers tell their health and measurements; in a container others
# must reach it, elsewhere nobody should.
HEALTH_HOST = env.str("HEALTH_HOST", default="127.0.0.1")

# -- Limits of tenants ----------------------------------------------------------

# Notifications that a tenant may submit a second, unless its own page says otherwise.
TENANT_RATE = env.int("TENANT_RATE", default=500)
# How many web processes share a tenant's rate, while Valkey is away.
EXPECTED_WEB_PROCESSES = env.int("EXPECTED_WEB_PROCESSES", default=2)

# Where tenants without a home country may send text messages: countries, or * for all.
SMS_COUNTRIES = env.str("SMS_COUNTRIES", default="*")
# How many text messages of a tenant one number may get; 0: as many as it likes.
SMS_OTPS_IN_TEN_MINUTES = env.int("SMS_OTPS_IN_TEN_MINUTES", default=5)
SMS_OTPS_A_DAY = env.int("SMS_OTPS_A_DAY", default=20)
SMS_MARKETING_A_DAY = env.int("SMS_MARKETING_A_DAY", default=3)
SMS_A_DAY = env.int("SMS_A_DAY", default=100)
# How many OTPs of a tenant numbers of the same first digits may get in ten minutes
# before staff are told, and before they are refused; 0: never.
SMS_PREFIX_ALARM = env.int("SMS_PREFIX_ALARM", default=50)
SMS_PREFIX_LIMIT = env.int("SMS_PREFIX_LIMIT", default=100)
# What a segment of a text message costs by country; * is every other.
SMS_PRICES: dict[str, float | str] = env.json("SMS_PRICES", default={"*": "0.1"})

# -- What is refused when there is too much ---------------------------------------

# How large the database may grow on its disk; None: nobody knows.
_MAX_GB = env.float("DATABASE_MAX_GB", default=0)
DATABASE_MAX_BYTES = int(_MAX_GB * 1_000_000_000) if _MAX_GB else None
# Submissions that a web process has in hand, of which it works on a quarter at once:
# LOW is refused beyond half of them, NORMAL beyond all, HIGH never.
SUBMISSIONS_UNDER_WAY = env.int("SUBMISSIONS_UNDER_WAY", default=32)
# How late the oldest due message of a class may be.
LATE_AFTER = {
    Priority.HIGH: timedelta(seconds=env.int("HIGH_LATE_AFTER_SECONDS", default=30)),
    Priority.NORMAL: timedelta(
        seconds=env.int("NORMAL_LATE_AFTER_SECONDS", default=600)
    ),
    Priority.LOW: timedelta(seconds=env.int("LOW_LATE_AFTER_SECONDS", default=14_400)),
}

# -- Delivery -----------------------------------------------------------------

DELIVERY_TRANSPORTS = {
    "postgres": "notifications.transport.postgres.PostgresTransport",
    "kafka": "notifications.transport.kafka.consuming.KafkaTransport",
}
DELIVERY_TRANSPORT = env.str("DELIVERY_TRANSPORT", default="postgres")

KAFKA_BOOTSTRAP_SERVERS = env.str("KAFKA_BOOTSTRAP_SERVERS", default="")
# Whether it is librdkafka's stand-in, for development where there is no broker.
KAFKA_IS_MOCK = env.bool("KAFKA_IS_MOCK", default=False)
# Begins every topic and group, where a cluster is shared.
KAFKA_PREFIX = env.str("KAFKA_PREFIX", default="")
# More of librdkafka's options for every client, for example those of SASL.
KAFKA_CLIENT_OPTIONS: dict[str, str] = env.json("KAFKA_CLIENT_OPTIONS", default={})
# "consumer" (KIP-848) or "classic"; empty asks the broker.
KAFKA_GROUP_PROTOCOL = env.str("KAFKA_GROUP_PROTOCOL", default="")
# A name that a process keeps when it is restarted: in a classic group it then has its
# partitions back at once, where a new member waits until the old one is given up.
KAFKA_INSTANCE = env.str("KAFKA_INSTANCE", default="")

# The relay dates a row so far ahead while it publishes it: after that it is due again.
PUBLISH_LEASE = timedelta(seconds=env.float("PUBLISH_LEASE_SECONDS", default=4))
# A record that nobody has claimed after this long counts as lost.
PUBLISHED_HORIZONS = {
    Priority.HIGH: timedelta(seconds=env.int("HIGH_HORIZON_SECONDS", default=60)),
    Priority.NORMAL: timedelta(seconds=env.int("HORIZON_SECONDS", default=600)),
    Priority.LOW: timedelta(seconds=env.int("HORIZON_SECONDS", default=600)),
}

# A claim is good for this long; a worker that dies is taken over after it.
CLAIM_LEASE = timedelta(seconds=env.int("CLAIM_LEASE_SECONDS", default=60))

# How many consumers share a provider's quota, for as long as Valkey cannot say.
EXPECTED_WORKERS = env.int("EXPECTED_WORKERS", default=4)

# Calls a second that a provider allows an account, unless it is said otherwise.
PROVIDER_RATE = 500.0
PROVIDERS: dict[str, dict[str, Any]] = {
    "in_app": {"BACKEND": "inbox.adapter.InAppAdapter"},
    "sandbox": {
        "BACKEND": "providers.sandbox.SandboxAdapter",
        "OPTIONS": {
            "transient_rate": env.float("SANDBOX_TRANSIENT_RATE", default=0.0),
        },
        "CONCURRENCY": 500,
        "RATE": None,
        # It fails as it is told to, by the recipient.
        "BREAKER": None,
    },
}
# By channel: an alias, or tiers of aliases with their weights, the preferred first:
# [{"twilio": 3, "http": 1}, {"spare": 1}].
PROVIDER_ROUTES: dict[str, str | list[dict[str, float]]] = {
    "email": "sandbox",
    "sms": "sandbox",
    "push": "sandbox",
    "in_app": "in_app",
}
if SMTP_URL := env.str("SMTP_URL", default=""):
    PROVIDERS["smtp"] = {
        "BACKEND": "providers.email.smtp.SmtpAdapter",
        "OPTIONS": {
            "url": SMTP_URL,
            "sender": env.str("SMTP_SENDER", default="notifications@localhost"),
        },
        "CONCURRENCY": 10,
        "RATE": env.float("SMTP_RATE", default=PROVIDER_RATE),
        # Connecting and handing over may take eight seconds before the final reply.
        "TIMEOUT": 20.0,
    }
    PROVIDER_ROUTES["email"] = "smtp"
if HTTP_PROVIDER_URL := env.str("HTTP_PROVIDER_URL", default=""):
    PROVIDERS["http"] = {
        "BACKEND": "providers.http.HttpAdapter",
        "OPTIONS": {
            "url": HTTP_PROVIDER_URL,
            "token": env.str("HTTP_PROVIDER_TOKEN", default=""),
        },
        "RATE": env.float("HTTP_PROVIDER_RATE", default=PROVIDER_RATE),
        "IDEMPOTENCY_WINDOW": env.float(
            "HTTP_PROVIDER_IDEMPOTENCY_WINDOW", default=86_400.0
        ),
    }
    PROVIDER_ROUTES["sms"] = "http"
if TWILIO_ACCOUNT_SID := env.str("TWILIO_ACCOUNT_SID", default=""):
    PROVIDERS["twilio"] = {
        "BACKEND": "providers.sms.twilio.TwilioAdapter",
        "OPTIONS": {
            "account_sid": TWILIO_ACCOUNT_SID,
            # The secret of the API key, where there is one.
            "auth_token": env.str("TWILIO_AUTH_TOKEN"),
            "sender": env.str("TWILIO_SENDER"),
            "key_sid": env.str("TWILIO_KEY_SID", default=""),
            "callback_url": env.str("TWILIO_CALLBACK_URL", default=""),
        },
        "RATE": env.float("TWILIO_RATE", default=PROVIDER_RATE),
    }
    PROVIDER_ROUTES["sms"] = "twilio"
if FCM_SERVICE_ACCOUNT := env.str("FCM_SERVICE_ACCOUNT", default=""):
    PROVIDERS["fcm"] = {
        "BACKEND": "providers.push.fcm.FcmAdapter",
        "OPTIONS": {"service_account": FCM_SERVICE_ACCOUNT},
        "RATE": env.float("FCM_RATE", default=PROVIDER_RATE),
        # Getting a token and connecting, twice if the token is refused, may take
        # fourteen seconds before the body has left.
        "TIMEOUT": 20.0,
    }
    PROVIDER_ROUTES["push"] = "fcm"
PROVIDER_ROUTES |= env.json("PROVIDER_ROUTES", default={})
# What an unknown outcome leads to, by alias and category; docs/delivery-states.md has
# the defaults.
for _alias, _policies in env.json("PROVIDER_UNKNOWN", default={}).items():
    PROVIDERS.setdefault(_alias, {})["UNKNOWN"] = _policies
# Whatever is accepted with a test key goes here and nowhere else.
TEST_PROVIDER = "sandbox"

# Per category: exponential back-off with full jitter between `base` and `cap`,
# until the window that starts with the first claim is over or the attempts are used up.
RETRY_POLICIES: dict[str, dict[str, Any]] = {
    "otp": {
        "base": timedelta(seconds=1),
        "cap": timedelta(seconds=15),
        "window": timedelta(minutes=5),
        "max_attempts": 20,
    },
    "transactional": {
        "base": timedelta(seconds=2),
        "cap": timedelta(minutes=15),
        "window": timedelta(hours=24),
        "max_attempts": 200,
    },
    "marketing": {
        "base": timedelta(seconds=5),
        "cap": timedelta(minutes=30),
        "window": timedelta(hours=6),
        "max_attempts": 30,
    },
}
# Of these, a person's messages go out one after the other, in the order in which they
# were accepted: the next waits for the end of the one before, retries included.
ORDERED_CATEGORIES: list[str] = env.list("ORDERED_CATEGORIES", default=[])
# Over how long what quiet hours or a snooze held back is released after their end.
QUIET_HOURS_SPREAD = timedelta(
    seconds=env.int("QUIET_HOURS_SPREAD_SECONDS", default=1800)
)
# How long after its due date a notification is still worth sending, where the
# caller names no expires_at. None: as long as it takes.
DEFAULT_EXPIRY: dict[str, timedelta | None] = {
    "otp": timedelta(minutes=5),
    "transactional": None,
    "marketing": None,
}
