// Live update: whatever has data-live is fetched again, as the server writes it,
// when the event stream says that there is something new; charts follow it.
"use strict";
(() => {
  if (!document.querySelector("[data-live]")) return;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const charts = [];
  const sizeOf = (box) => ({ width: Math.max(240, box.clientWidth - 4), height: 170 });

  function chart(figure, points) {
    const key = figure.dataset.chart;
    const dots = points.filter((p) => typeof p[key] === "number");
    if (dots.length < 2 || typeof uPlot === "undefined") return;
    const box = figure.querySelector(".plot");
    box.replaceChildren();
    const axis = { stroke: css("--fg"), grid: { stroke: css("--line") }, ticks: { stroke: css("--line") } };
    const plot = new uPlot({
      ...sizeOf(box), legend: { show: true }, scales: { x: { time: false } },
      series: [{ label: "round" }, { label: key, stroke: css("--chart"), width: 2, spanGaps: true }],
      axes: [axis, { ...axis, size: 56 }],
    }, [dots.map((p) => p.round), dots.map((p) => p[key])], box);
    charts.push({ key, plot, box, epoch: dots[dots.length - 1].epoch });
  }

  async function begin() {
    const answer = await fetch("/v1/rounds?limit=1024", { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    let points = await answer.json();
    if (points.length) points = points.filter((p) => p.epoch === points[points.length - 1].epoch);
    document.querySelectorAll("figure[data-chart]").forEach((f) => chart(f, points));
  }

  function extend(p) {
    for (const c of charts) {
      if (typeof p[c.key] !== "number" || p.epoch !== c.epoch) continue;
      const [x, y] = c.plot.data;
      if (x.length && x[x.length - 1] >= p.round) continue;
      c.plot.setData([[...x.slice(-1023), p.round], [...y.slice(-1023), p[c.key]]]);
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
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const old of document.querySelectorAll("[data-live]")) {
          const fresh = old.id && next.getElementById(old.id);
          if (!fresh || fresh.outerHTML === old.outerHTML || old.contains(document.activeElement)) continue;
          if (old.dataset.live === "flash") fresh.classList.add("fresh");
          old.replaceWith(document.importNode(fresh, true));
        }
      }
    } catch { /* the stream tells when the server is back */ }
    waiting = false;
    if (again) { again = false; refresh(); }
  }

  const state = document.getElementById("live-state");
  const say = (text) => { if (state) state.textContent = text; };
  const stream = new EventSource("/v1/events");
  stream.addEventListener("open", () => { say("live"); });
  stream.addEventListener("error", () => { say("connection lost, trying again"); });
  stream.addEventListener("round", (e) => { extend(JSON.parse(e.data)); refresh(); });
  stream.addEventListener("measured", (e) => { extend(JSON.parse(e.data)); refresh(); });
  stream.addEventListener("status", refresh);
  stream.addEventListener("node", (e) => { say(JSON.parse(e.data).lost ? "lost: the node does not answer" : "live"); refresh(); });
  addEventListener("resize", () => { for (const c of charts) c.plot.setSize(sizeOf(c.box)); });
  begin();
})();
