"""What Plotly's script needs in the page so that it injects no style elements, which the security policy refuses."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from django import template
from django.contrib.staticfiles.finders import find
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()

SCRIPT = "plotly/plotly.min.js"
_GUARD = re.compile(rb'document\.getElementById\("([0-9a-f]{64})"\)')


@register.simple_tag
def plotly_style_guards() -> SafeString:
    """Empty elements with the ids that the script looks for before it adds styles of parts that we do not draw.

    The ids are hashes that change with every version, so they are read from the script that is served.
    """
    return format_html_join("", '<meta id="{}" name="plotly-style">', ((name,) for name in style_ids()))


@lru_cache(maxsize=1)
def style_ids() -> tuple[str, ...]:
    found = find(SCRIPT)
    if not isinstance(found, str):
        return ()
    return tuple(sorted({match.decode() for match in _GUARD.findall(Path(found).read_bytes())}))
