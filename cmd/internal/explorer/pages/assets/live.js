// The pages are whole without this script. It goes to the search field at the key "/", suggests
// answers while one types, copies commands, keeps ages right, and keeps the elements with data-live
// up to date: when the event stream tells of news, it fetches the page again and replaces those that
// have changed. Tables whose rows are alike are sorted by a button in the head of each column.
"use strict";
(() => {
  document.documentElement.classList.add("js");

  addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, textarea, select")) return;
    e.preventDefault();
    document.getElementById("q").focus();
  });

  addEventListener("click", async (e) => {
    if (!e.target.matches(".copy")) return;
    await navigator.clipboard.writeText(e.target.previousElementSibling.textContent);
    e.target.textContent = "Copied";
  });

  // What is typed is completed by the search itself: an answer's query leads to that answer alone.
  const field = document.getElementById("q"), hints = document.getElementById("hints");
  let typing = 0;
  field.addEventListener("input", (e) => {
    clearTimeout(typing);
    const chosen = e.inputType === undefined || e.inputType === "insertReplacementText";
    if (chosen && field.value) { field.form.requestSubmit(); return; }
    typing = setTimeout(async () => {
      const asked = field.value.trim();
      if (!asked) { hints.replaceChildren(); return; }
      const answer = await fetch("/v1/search?q=" + encodeURIComponent(asked)).catch(() => null);
      if (!answer || !answer.ok || field.value.trim() !== asked) return;
      hints.replaceChildren(...(await answer.json()).map((x) => new Option(x.label, x.query)));
    }, 200);
  });

  const skew = Date.now() - Date.parse(document.documentElement.dataset.now);
  function ages() {
    for (const t of document.querySelectorAll("time[data-age]")) {
      const s = Math.round((Date.now() - skew - Date.parse(t.dateTime)) / 1000);
      const [n, unit] = s < 60 ? [s, "s"] : s < 3600 ? [s / 60, "min"] : s < 172800 ? [s / 3600, "h"] : [s / 86400, "days"];
      t.textContent = `${Math.max(0, Math.floor(n))} ${unit} ago`;
    }
  }
  setInterval(ages, 5000);

  // A cell's value is its first number, where it begins with one, or its text.
  const valueOf = (row, i) => {
    const cell = row.cells[i], time = cell.querySelector("time");
    const text = time ? time.dateTime : cell.textContent.trim().replace(/^#/, ""), n = parseFloat(text.replace(/,/g, ""));
    return time || isNaN(n) ? text : n;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  const order = new Map(); // the column and direction of a region, by its label

  function sort(region, i, down) {
    const table = region.querySelector("table"), body = table.tBodies[0];
    order.set(region.ariaLabel, [i, down]);
    [...table.tHead.rows[0].cells].forEach((h, at) => {
      if (at === i) h.setAttribute("aria-sort", down ? "descending" : "ascending"); else h.removeAttribute("aria-sort");
      h.querySelector(".sort").textContent = at !== i ? "\u2195" : down ? "\u2193" : "\u2191";
    });
    const rows = [...body.rows].map((row) => [valueOf(row, i), row]);
    rows.sort((a, b) => down ? compare(b[0], a[0]) : compare(a[0], b[0]));
    body.append(...rows.map((x) => x[1]));
  }

  function sortable(root) {
    const regions = root.matches?.(".scroll") ? [root] : root.querySelectorAll(".scroll");
    for (const region of regions) {
      const table = region.querySelector("table"), body = table?.tBodies[0];
      if (!table?.tHead || table.tBodies.length !== 1 || body.rows.length < 3 || table.querySelector("tbody [colspan]")) continue;
      [...table.tHead.rows[0].cells].forEach((h, i) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "sort";
        button.ariaLabel = "Sort by " + h.textContent.trim();
        button.textContent = "\u2195";
        button.addEventListener("click", () => sort(region, i, h.getAttribute("aria-sort") === "ascending"));
        h.append(button);
      });
      if (order.has(region.ariaLabel)) sort(region, ...order.get(region.ariaLabel));
    }
  }

  const content = (e) => e.outerHTML.replace(/<time[^]*?<\/time>/g, ""); // an age is no news
  const served = new Map(); // the content of the live elements, by id, before they were sorted
  for (const e of document.querySelectorAll("[data-live]")) served.set(e.id, content(e));
  sortable(document);
  if (!document.querySelector("[data-live]")) return;

  // What has changed is read out once, by the region that the page had from the beginning.
  function announce(page) {
    const fresh = page.querySelector("[data-news]"), old = document.querySelector("[data-news]");
    if (fresh && old && fresh.textContent !== old.textContent) old.textContent = fresh.textContent;
  }

  function replace(page) {
    announce(page);
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = old.id && page.getElementById(old.id);
      if (!fresh || old.contains(document.activeElement) || content(fresh) === served.get(old.id)) continue;
      served.set(old.id, content(fresh));
      if (old.dataset.live === "flash") fresh.classList.add("fresh");
      const put = document.importNode(fresh, true);
      old.replaceWith(put);
      sortable(put);
    }
  }

  let waiting = false, again = false, last = 0;
  async function refresh() {
    if (waiting) { again = true; return; }
    waiting = true;
    await new Promise((go) => setTimeout(go, Math.max(0, 1000 - (Date.now() - last))));
    last = Date.now();
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok || answer.status === 503) { // 503: the last known page of a node that is lost
        replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
      }
    } catch { /* the stream tells when the server is back */ }
    waiting = false;
    if (again) { again = false; refresh(); }
  }

  const state = document.getElementById("live-state");
  const say = (is, text) => { state.dataset.state = is; state.textContent = text; };
  const stream = new EventSource("/v1/events");
  stream.addEventListener("open", () => say("live", "Live."));
  stream.addEventListener("error", () => say("lost", "Connection lost, trying again."));
  for (const kind of ["round", "measured", "status"]) stream.addEventListener(kind, refresh);
  stream.addEventListener("node", (e) => {
    if (JSON.parse(e.data).lost) say("lost", "Lost: the node does not answer.");
    else say("live", "Live.");
    refresh();
  });
})();
