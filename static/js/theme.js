// Sets the chosen colour scheme before the first paint, and marks that scripts run.
(function () {
  "use strict";
  const root = document.documentElement;
  root.classList.remove("no-script");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage may be refused; the system's scheme then decides.
  }
})();
