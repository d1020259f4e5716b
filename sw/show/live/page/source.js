// Where recordings and simulators come from: files beside the page, or the server that serves it.

import { compile } from './machine.js';

const modules = new Map();

async function got(address, options) {
  const response = await fetch(address, options);
  if (!response.ok) {
    const text = await response.text();
    let message = text.trim();
    try { message = JSON.parse(text).error ?? message; } catch { /* it is plain text */ }
    throw new Error(message || `${address}: ${response.status}`);
  }
  return response;
}

/** What the page offers: {mode: "static", cases} or {mode: "live", choices, graph}. */
export async function offered() {
  return (await got('cases.json')).json();
}

/** The compiled simulator at an address; each is fetched once. */
export function simulator(address) {
  if (!modules.has(address)) {
    const loading = got(address).then(response => response.arrayBuffer()).then(compile);
    loading.catch(() => modules.delete(address));
    modules.set(address, loading);
  }
  return modules.get(address);
}

/** A recording of a static site. */
export async function prepared(file) {
  const { body } = await got(file);
  return new Response(body.pipeThrough(new DecompressionStream('gzip'))).json();
}

/** Have the server record a run; `tell` hears what the server does. */
export async function recorded(request, tell) {
  const { body } = await got('record', { method: 'POST', body: JSON.stringify(request) });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '', recording;
  for (;;) {
    const { value, done } = await reader.read();
    text += value ?? '';
    const lines = text.split('\n');
    text = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.error) throw new Error(message.error);
      if (message.doing) tell(message.doing);
      recording = message.recording ?? recording;
    }
    if (done) break;
  }
  if (!recording) throw new Error('the server ended before the run was recorded');
  return recording;
}

/** Give the server a graph. Returns the text that names it. */
export async function sent(name, contents) {
  const response = await got(`graph?name=${encodeURIComponent(name)}`,
                             { method: 'POST', body: contents });
  return (await response.json()).graph;
}
