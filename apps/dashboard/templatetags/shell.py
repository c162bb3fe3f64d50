"""The frame around every page, for base.html: navigation, the person, banners."""

from __future__ import annotations

from django import template
from django.template.context import RequestContext

from apps.dashboard.shell import Shell, shell_of

register = template.Library()


@register.simple_tag(takes_context=True)
def shell(context: RequestContext) -> Shell:
    return shell_of(context.request, context.get("state"))
