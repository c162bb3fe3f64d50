// Draws every [data-chart] from the JSON beside it, in the colours of the theme; redraws on swap and theme change.
(function () {
  "use strict";
  const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, scrollZoom: false, doubleClick: false };

  function token(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  // The server names colours by token ("@series-1"), so that one figure serves both themes.
  function coloured(value) {
    if (typeof value === "string") return value.startsWith("@") ? token(value.slice(1)) : value;
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner)]));
    }
    return value;
  }

  function figureOf(element) {
    const source = document.getElementById(element.dataset.chart);
    return source ? coloured(JSON.parse(source.textContent)) : null;
  }

  function draw(element) {
    const figure = figureOf(element);
    if (!figure || !window.Plotly) return;
    window.Plotly.react(element, figure.data, figure.layout, CONFIG).then(() => {
      if (element.dataset.zoomable && !element.dataset.zoomBound) {
        element.dataset.zoomBound = "1";
        element.on("plotly_relayout", (change) => zoom(change));
      }
    });
  }

  function instant(value) {
    const text = String(value).replace(" ", "T");
    const moment = new Date(/[zZ]$/.test(text) ? text : text + "Z");
    return Number.isNaN(moment.getTime()) ? null : moment.toISOString().slice(0, 16) + "Z";
  }

  // Dragging over a chart asks the server for that span: the address is the state.
  function zoom(change) {
    const from = instant(change["xaxis.range[0]"]);
    const to = instant(change["xaxis.range[1]"]);
    if (!from || !to) return;
    const url = new URL(window.location.href);
    url.searchParams.delete("range");
    url.searchParams.set("from", from);
    url.searchParams.set("to", to);
    window.location.assign(url);
  }

  function drawAll(root) {
    for (const element of root.querySelectorAll("[data-chart]")) draw(element);
  }

  document.addEventListener("DOMContentLoaded", () => drawAll(document));
  document.addEventListener("theme:changed", () => drawAll(document));
  document.addEventListener("htmx:afterSwap", () => drawAll(document));
  document.addEventListener("htmx:beforeCleanupElement", (event) => {
    const gone = event.detail.elt;
    if (gone instanceof Element && gone.matches("[data-chart]") && window.Plotly) window.Plotly.purge(gone);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(document));
})();
