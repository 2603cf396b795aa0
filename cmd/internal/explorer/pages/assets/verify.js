// The page of the verifier. A worker loads the WebAssembly and checks files, so that the page stays
// responsive. Text from a file or from the verifier is only ever set as text.
"use strict";
(() => {
  const form = document.getElementById("verifier");
  if (!form) return;
  const [file, height, hash, go, loading, verdict, source] =
    ["file", "height", "hash", "go", "loading", "verdict", "source"].map((id) => document.getElementById(id));
  const base = document.currentScript.src;
  let own = Boolean(form.dataset.blocks); // the hash is the explorer's, and not the reader's
  let busy = false;

  const megabytes = (bytes) => (bytes / 1e6).toFixed(1) + " MB";
  const seconds = (ms) => (ms / 1000).toFixed(2) + " s";

  function element(name, text, kind) {
    const e = document.createElement(name);
    e.textContent = text;
    if (kind) e.className = kind;
    return e;
  }

  // show replaces the verdict: "ok", "refused" or "plain".
  function show(kind, title, text, notes = []) {
    const box = element("div", "", kind === "refused" ? "alert" : "box");
    const mark = { ok: "✓ verified", refused: "✕ not verified", plain: "…" }[kind];
    const head = element("h2", "");
    head.append(element("span", mark, `tag ${kind}`), " ", element("bdi", title));
    box.append(head);
    if (text) box.append(element(kind === "ok" ? "pre" : "p", text, kind === "ok" ? "raw" : "reason"));
    for (const note of notes) box.append(element("p", note, "soft"));
    verdict.replaceChildren(box);
    verdict.dataset.state = kind;
  }

  const waiting = new Map();
  let next = 0;
  const worker = new Worker(new URL("verify-worker.js", base));
  worker.onerror = () => fail("The verifier cannot start in this browser.");
  worker.onmessage = ({ data }) => {
    if (data.failed) fail(data.failed);
    else if (data.loaded) {
      loading.textContent = `Ready: ${megabytes(data.bytes)} loaded in ${seconds(data.loaded)}. From here on no network is needed.`;
      go.disabled = false;
      form.dataset.ready = "yes";
    } else {
      waiting.get(data.id)(data);
      waiting.delete(data.id);
    }
  };
  function fail(text) {
    loading.textContent = text;
    go.disabled = true;
    form.dataset.ready = "no";
    for (const answer of waiting.values()) answer({ reason: text });
    waiting.clear();
  }

  const ask = (f) => new Promise((answer) => {
    waiting.set(++next, answer);
    worker.postMessage({ id: next, file: f, name: f.name, height: height.value, hash: hash.value });
  });

  // take fills in the hash of a block that the explorer knows.
  async function take(block) {
    const answer = await fetch(form.dataset.blocks + block);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const known = page.getElementById("hash");
    if (!answer.ok || !known || page.getElementById("height").value !== String(block) || !known.value) return false;
    [height.value, hash.value] = [block, known.value];
    return true;
  }

  async function verify() {
    const f = file.files[0];
    if (!f || busy || form.dataset.ready !== "yes") return;
    if (f.size > Number(form.dataset.max)) {
      show("refused", f.name, `The file has ${megabytes(f.size)}, an exported model at most ${megabytes(form.dataset.max)}.`);
      return;
    }
    busy = go.disabled = true;
    show("plain", f.name, "Checking.");
    try {
      let out = await ask(f);
      const notes = [];
      if (own && out.height && String(out.height) !== height.value && await take(out.height).catch(() => false)) {
        out = await ask(f);
        notes.push(`The hash of block ${out.height} is this explorer's word.`);
      } else if (!out.verified && out.height && !own) {
        notes.push(`The file agrees with its own proof, which leads to the header of block ${out.height} of chain ${out.chain}: ` +
          "the hash of that block is wanted.");
      }
      if (out.took !== undefined) notes.push(`Checked ${megabytes(f.size)} in ${seconds(out.took)} on this machine.`);
      show(out.verified ? "ok" : "refused", f.name, out.verified ? out.text : out.reason, notes);
    } catch (e) {
      show("refused", f.name, String(e));
    }
    busy = go.disabled = false;
  }

  form.addEventListener("submit", (e) => { e.preventDefault(); verify(); });
  for (const field of [height, hash]) {
    field.addEventListener("input", () => { own = false; if (source) source.hidden = true; });
  }
  file.addEventListener("change", () => { if (hash.value) verify(); });
  addEventListener("dragover", (e) => { e.preventDefault(); form.classList.add("over"); });
  addEventListener("dragleave", (e) => { if (!e.relatedTarget) form.classList.remove("over"); });
  addEventListener("drop", (e) => {
    e.preventDefault();
    form.classList.remove("over");
    if (busy || !e.dataTransfer.files.length) return;
    file.files = e.dataTransfer.files;
    if (hash.value) verify();
  });
})();
