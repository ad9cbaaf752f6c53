// Everything works without this file. It follows Airflow's theme, leads links out of the frame, and keeps a running
// page up to date.
"use strict";

// Airflow keeps its theme under this key; a change there reaches this frame as a storage event.
function applyTheme() {
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* no storage: the system's theme holds */ }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}
applyTheme();
addEventListener("storage", (event) => { if (event.key === "theme" || event.key === null) applyTheme(); });

// Airflow shows these pages in a frame that may not navigate the window around it. Its router listens to the history,
// so a link to another part of Airflow is given to that.
function leaveFrame(event) {
  const link = event.target.closest("a[data-airflow]");
  if (!link || window.parent === window || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  try {
    const outside = window.parent;
    outside.history.pushState(null, "", link.href);
    outside.dispatchEvent(new outside.PopStateEvent("popstate", { state: null }));
    event.preventDefault();
  } catch { /* framed by somebody else: the link opens here */ }
}
addEventListener("click", leaveFrame);

// A reason that hides in a closed section must be found by its address.
function openTarget() {
  let named = null;
  try { named = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no address of ours */ }
  const target = named || document.querySelector(".log .marked");
  if (!target) return;
  const closed = target.closest("details");
  if (closed) closed.open = true;
  target.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", openTarget);

function replacePart(old, fresh) {
  if (old.innerHTML === fresh.innerHTML) return;
  const open = [...old.querySelectorAll("details")].map((one) => one.open);
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const address = focused && (focused.id ? `#${CSS.escape(focused.id)}` : focused.href && `a[href="${CSS.escape(focused.getAttribute("href"))}"]`);
  const scrolled = [...old.querySelectorAll(".scroll, .tail")].map((one) => [one.scrollLeft, one.scrollTop]);
  old.replaceChildren(...fresh.childNodes);
  [...old.querySelectorAll("details")].forEach((one, place) => { if (open[place]) one.open = true; });
  [...old.querySelectorAll(".scroll, .tail")].forEach((one, place) => { if (scrolled[place]) [one.scrollLeft, one.scrollTop] = scrolled[place]; });
  if (address) old.querySelector(address)?.focus({ preventScroll: true });
}

function announce(text) {
  const status = document.getElementById("live-status");
  if (status && text && status.textContent !== text) status.textContent = text;
}

function watch(every) {
  const toggle = document.getElementById("live-toggle");
  let paused = false, failures = 0;
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      paused = !paused;
      toggle.setAttribute("aria-pressed", String(paused));
      toggle.textContent = paused ? "Updates are paused" : "Pause updates";
      announce(paused ? "Updates are paused." : "Updates go on.");
    });
  }
  async function look() {
    if (!paused && !document.hidden) {
      try {
        const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
        if (answer.status === 401 || answer.status === 403) return announce("You are logged out: log in to Airflow and reload.");
        if (!answer.ok) throw new Error(String(answer.status));
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const said = fresh.querySelector("[data-announce]")?.textContent;
        for (const part of document.querySelectorAll("[data-part]")) {
          const other = fresh.getElementById(part.id);
          if (other) replacePart(part, other);
        }
        announce(said);
        if (!fresh.body.dataset.live || document.querySelector("#run-grid") === null !== (fresh.querySelector("#run-grid") === null)) {
          return location.reload(); // it ended, or its ledger came: the page has other parts now
        }
        failures = 0;
      } catch {
        failures += 1;
        announce("No answer from Airflow; trying again.");
      }
    }
    setTimeout(look, every * 1000 * Math.min(10, 1 + failures));
  }
  setTimeout(look, every * 1000);
}

addEventListener("DOMContentLoaded", () => {
  openTarget();
  const every = Number(document.body.dataset.live);
  if (every) watch(every);
});
