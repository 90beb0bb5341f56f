// Keys, focus, time at work, receipts opened, live preview. The page reads and decides without it.
"use strict";
(() => {
  const typing = (at) => at instanceof Element && at.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  const seen = (at) => at.getClientRects().length > 0;
  const keyed = () => [...document.querySelectorAll("[data-key]")].filter(seen);

  // While a decision is on its way the questions shown are the old ones: no key decides until the new ones are there

  const root = document.documentElement;
  document.addEventListener("htmx:beforeRequest", () => { root.dataset.busy = "yes"; });
  for (const name of ["htmx:afterSettle", "htmx:sendError", "htmx:timeout", "htmx:swapError"]) document.addEventListener(name, () => { delete root.dataset.busy; });
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.xhr && event.detail.xhr.status === 204) delete root.dataset.busy; });

  // Keys

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat || typing(event.target)) return;
    if (document.querySelector("dialog[open]") || root.dataset.busy) return;
    // Enter and space belong to whatever has the focus, if it does something with them.
    if (event.key === "Enter" && event.target.closest("a, button, summary, input")) return;
    // Where several questions stand on a page, a key is for the one that has the focus, else for one in view.
    const inView = (at) => { const box = at.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; };
    const all = keyed().filter((at) => at.dataset.key === event.key), here = event.target.closest(".adjudication");
    const several = document.querySelectorAll(".adjudication").length > 1;
    const hit = (here && all.find((at) => here.contains(at))) || all.find((at) => !several || inView(at));
    if (!hit || hit.disabled) return;
    event.preventDefault();
    if (hit.matches("textarea")) hit.focus();
    else if (hit.matches("summary")) { hit.click(); const field = hit.parentElement.open && hit.parentElement.querySelector("input, textarea, select"); if (field) field.focus(); }
    else hit.click();
  });
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (!opener) return;
    const dialog = document.getElementById(opener.dataset.opens), list = dialog.querySelector("dl");
    list.replaceChildren(...keyed().flatMap((at) => {
      const key = document.createElement("kbd"), dt = document.createElement("dt"), dd = document.createElement("dd");
      key.textContent = at.dataset.key; dt.append(key); dd.textContent = at.dataset.does;
      return [dt, dd];
    }));
    dialog.showModal();
  });

  // Time with the page in view and somebody at it, and what was opened

  let active = 0, last = 0, opened = new Set();
  const IDLE = 60000;
  const tick = () => { const now = performance.now(); if (last && !document.hidden) active += Math.min(now - last, IDLE); last = document.hidden ? 0 : now; };
  for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) document.addEventListener(name, tick, { passive: true, capture: true });
  document.addEventListener("visibilitychange", () => { tick(); });
  last = performance.now();
  document.addEventListener("toggle", (event) => { if (event.target.open && event.target.dataset.receipt) opened.add(event.target.dataset.receipt); }, true);
  document.addEventListener("click", (event) => { const at = event.target.closest("[data-opened]"); if (at) opened.add(at.dataset.opened); });
  const fill = (form) => {
    tick();
    for (const [name, value] of [["active_ms", String(Math.round(active))], ["opened", [...opened].join(" ")]]) if (form.elements[name]) form.elements[name].value = value;
  };
  document.addEventListener("submit", (event) => fill(event.target), true);
  document.addEventListener("htmx:configRequest", (event) => {
    const form = event.target.closest("form");
    if (!form || !form.elements.active_ms) return;
    fill(form);
    for (const name of ["active_ms", "opened"]) event.detail.parameters[name] = form.elements[name].value;
  });

  // After a decision: the next question is in focus, the clock begins again

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "panel") return;
    active = 0; opened = new Set(); last = performance.now();
    const question = document.getElementById("question");
    event.detail.target.scrollTop = 0;
    if (question) question.focus({ preventScroll: true });
    show();
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, () => {
    const place = document.querySelector(".notices");
    if (!place) return;
    const line = document.createElement("p");
    line.className = "notice bad"; line.textContent = "The page's server did not answer: this was not saved. Try again.";
    place.replaceChildren(line);
  });

  // The mark of what the question is about comes into view beside it

  const ABOUT = { claim: "at-claim", target: "at-target", bar: "at-target", hours: "at-hours" };
  const show = () => {
    const field = document.querySelector("form.answer [name=question]");
    const mark = field && document.getElementById(ABOUT[field.value]);
    if (mark && matchMedia("(min-width: 60rem)").matches) mark.scrollIntoView({ block: "center" });
  };
  window.addEventListener("load", show);

  // A cell of a table taken as target; what a correction would make of the row

  let wait = 0;
  const preview = (form) => {
    clearTimeout(wait);
    wait = setTimeout(async () => {
      const body = new URLSearchParams([...new FormData(form)].filter(([, v]) => typeof v === "string"));
      body.set("value", "correct");
      const place = form.querySelector("details.correct .preview");
      const answer = await fetch(form.dataset.preview, { method: "POST", body, headers: { "HX-Request": "true" } }).catch(() => null);
      // The answer is this page's own, escaped template.
      if (answer && answer.ok && place.isConnected) htmx.swap(place, await answer.text(), { swapStyle: "innerHTML" });
    }, 250);
  };
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.answer");
    if (form && event.target.closest("details.correct")) preview(form);
  });
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cell]"), form = document.querySelector("form.answer");
    if (!cell || !form || !form.elements.table_row || !form.querySelector("details.correct").open) return;
    const [table, row, column] = cell.dataset.cell.split("/");
    for (const [name, value] of [["table", table], ["table_row", row], ["table_column", column], ["target_value", cell.textContent.trim()]]) form.elements[name].value = value;
    preview(form);
  });
})();
