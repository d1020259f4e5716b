// Plays a recording under node: play.mjs MODULE.wasm.gz RECORDING.json PART [SIGNALS]. Prints what
// came of it as JSON. PART is the number of cycles that are run at once.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [page, wasm, file, part, wish] = process.argv.slice(2);
const { compile, Difference, Player } = await import(pathToFileURL(`${page}/machine.js`));
const { Records } = await import(pathToFileURL(`${page}/records.js`));
const module = await compile(readFileSync(wasm));
const recording = JSON.parse(readFileSync(file));
const told = { imports: [...new Set(WebAssembly.Module.imports(module).map(one => one.module))] };
try {
  const player = new Player(module, recording), states = new Map();
  let last = { cycles: 0 };
  while (!player.done) {
    player.advance(Number(part));
    if (!wish) continue;
    const view = player.machine.view();
    const number = recording.inside.findIndex(({ kind }) => kind === 'state');
    const [[now]] = player.machine.signals()[number];
    if (view.cycles === last.cycles + 1) {
      const at = (view.cycles - 1) % view.rows;
      const rows = player.machine.words(view.ring + 4 * at * view.row, view.row).slice();
      const records = new Records({ rows, row: view.row, count: 1, cycles: view.cycles },
                                  recording.hardware);
      // The record of a cycle comes one cycle later; the signals are those of the present cycle.
      const state = records.watched(0, 0);
      states.set(state, (states.get(state) ?? 0) + 1);
      if (last.busy) told.same = (told.same ?? true) && state === last.now;
    }
    last = { cycles: view.cycles, now, busy: player.inStep > 0 };
  }
  const view = player.machine.view();
  const buckets = player.machine.words(view.buckets, view.bucketCount * view.bucketWords);
  told.issued = 0;
  for (let at = 0; at < buckets.length; at += view.bucketWords) told.issued += buckets[at];
  Object.assign(told, {
    cycles: player.cycles, counters: player.counters, checksum: await player.checksum(),
    launches: player.launches.map(({ name }) => name), compared: player.compared,
    states: Object.fromEntries(states) });
} catch (error) {
  if (!(error instanceof Difference)) throw error;
  told.error = error.message;
}
console.log(JSON.stringify(told));
