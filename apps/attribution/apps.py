from django.apps import AppConfig


class AttributionConfig(AppConfig):
    name = "apps.attribution"
    label = "attribution"
    default_auto_field = "django.db.models.BigAutoField"
