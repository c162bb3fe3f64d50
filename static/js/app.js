// Small behaviour around HTMX: theme choice, menus that close, busy panels, announcements, refresh of live ranges.
(function () {
  "use strict";
  const root = document.documentElement;

  function chooseTheme(theme) {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      if (theme === "system") localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      // The choice then lasts for this page only.
    }
    markTheme();
    document.dispatchEvent(new CustomEvent("theme:changed"));
  }

  function markTheme() {
    const current = root.dataset.theme || "system";
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === current));
    }
  }

  document.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-theme-choice]");
    if (choice) chooseTheme(choice.dataset.themeChoice);
    const copy = event.target.closest("[data-copy]");
    if (copy) copyText(copy);
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target) || choice) menu.open = false;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  function copyText(button) {
    const source = document.getElementById(button.dataset.copy);
    if (!source || !navigator.clipboard) return;
    navigator.clipboard.writeText(source.textContent.trim()).then(() => announce("Copied"));
  }

  function announce(text) {
    const region = document.getElementById("announcer");
    if (region) region.textContent = text;
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    const target = event.detail.target;
    if (target instanceof Element && target.matches("[data-panel]")) target.setAttribute("aria-busy", "true");
  });

  document.addEventListener("htmx:afterSettle", () => {
    const panel = document.querySelector("[data-panel]");
    if (!panel) return;
    panel.removeAttribute("aria-busy");
    if (panel.dataset.title) document.title = panel.dataset.title;
    if (panel.dataset.announce) announce(panel.dataset.announce);
  });

  // A live range asks again at the pace of its sources, only while the page is looked at and no menu is open.
  let last = Date.now();
  setInterval(() => {
    const panel = document.querySelector("[data-panel][data-refresh]");
    if (!panel || document.hidden || !window.htmx) return;
    if (Date.now() - last < Number(panel.dataset.refresh) * 1000) return;
    if (panel.querySelector("details.menu[open]") || panel.contains(document.activeElement)) return;
    last = Date.now();
    window.htmx.ajax("GET", window.location.href, { target: "#panel", swap: "outerHTML" });
  }, 5000);

  // On narrow screens the pages are a row that scrolls: begin where this page is.
  function showCurrentPage() {
    const current = document.querySelector("#site-nav [aria-current=page]");
    const row = document.getElementById("site-nav");
    if (!current || row.scrollWidth <= row.clientWidth) return;
    const place = current.getBoundingClientRect();
    const seen = row.getBoundingClientRect();
    row.scrollLeft += place.left - seen.left - (seen.width - place.width) / 2;
  }

  function begin() {
    markTheme();
    showCurrentPage();
  }

  document.addEventListener("htmx:afterSettle", showCurrentPage);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
