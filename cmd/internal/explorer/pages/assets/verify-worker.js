// The worker of the verifier: it loads the WebAssembly once, gives up the network, and checks each
// file in an instance of its own, whose memory goes with it.
"use strict";
importScripts("wasm_exec.js");

const loaded = (async () => {
  const begin = performance.now();
  const answer = await fetch("verify.wasm.gz");
  if (!answer.ok) throw new Error(`verify.wasm.gz: status ${answer.status}`);
  const packed = await answer.blob();
  // A host may have unpacked it on the way: Content-Encoding.
  const magic = new Uint8Array(await packed.slice(0, 2).arrayBuffer());
  const gzipped = magic[0] === 0x1f && magic[1] === 0x8b;
  const stream = gzipped ? packed.stream().pipeThrough(new DecompressionStream("gzip")) : packed.stream();
  const module = await WebAssembly.compileStreaming(new Response(stream, { headers: { "Content-Type": "application/wasm" } }));
  self.fetch = self.XMLHttpRequest = self.WebSocket = self.EventSource = self.importScripts = undefined;
  postMessage({ loaded: performance.now() - begin, bytes: packed.size });
  return module;
})();
loaded.catch((e) => postMessage({ failed: `The verifier cannot be loaded: ${e.message}` }));

let turn = Promise.resolve();
onmessage = ({ data }) => { turn = turn.then(() => check(data)); };

async function check({ id, file, name, height, hash }) {
  try {
    const go = new Go();
    const instance = await WebAssembly.instantiate(await loaded, go.importObject);
    go.run(instance).catch(() => {}); // until main waits for the one call below
    const bytes = new Uint8Array(await file.arrayBuffer());
    const begin = performance.now();
    const out = self.spdlVerify(name, bytes, height, hash);
    if (!out) throw new Error("it ended without a verdict");
    postMessage({ id, took: performance.now() - begin, ...out });
  } catch (e) {
    postMessage({ id, verified: false, reason: `The verifier failed on this file: ${e.message}` });
  }
}
