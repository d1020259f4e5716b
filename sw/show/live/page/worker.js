// Plays a recording in a worker, so that the page never waits for the simulation. A message says up
// to which counted cycle to go; the answer is a picture of the machine at that cycle.

import { Difference, Player } from './machine.js';

const WINDOW = 256;         // cycles that a picture shows one by one
const SLICE = 4096;         // the ring's length: nothing that is shown falls out of the ring

let player, given, seconds = 0;

function pictureOf(machine, whole) {
  const view = machine.view();
  const count = Math.min(WINDOW, view.cycles);
  const rows = new Uint32Array(count * view.row);
  for (let i = 0; i < count; i++) {
    const cycle = view.cycles - count + i;
    rows.set(machine.words(view.ring + 4 * (cycle % view.rows) * view.row, view.row), i * view.row);
  }
  const picture = { cycles: view.cycles, launchesEnded: view.launches, rows, row: view.row, count };
  if (whole) {
    const used = Math.min(view.bucketCount, Math.ceil(view.cycles / 2 ** view.shift));
    picture.overview = machine.words(view.buckets, used * view.bucketWords).slice();
    picture.bucketWords = view.bucketWords;
    picture.bucketCycles = 2 ** view.shift;
  }
  return picture;
}

async function answer() {
  const picture = pictureOf(player.machine, true);
  const done = player.done;
  postMessage({
    ...picture, done, seconds,
    simulated: player.machine.report().cycles,
    launch: player.launch, launches: player.launches,
    signals: player.machine.signals(),
    counters: player.counters, compared: player.compared, values: values(),
    checksum: done ? await player.checksum() : undefined,
  }, [picture.rows.buffer, picture.overview.buffer]);
}

/** The words of the first result of a graph that is drawn, as they are in memory now; null before the
 * first launch. */
function values() {
  const { lists, result, steps } = given.recording;
  const output = result.outputs.find(({ step }) => step !== null);
  if (!lists.length || !output || !player.launches.length) return null;
  return player.machine.memory(steps[output.step][1], output.length).slice();
}

function advance(to) {
  const begin = performance.now();
  while (!player.done && player.cycles < to) {
    player.advance(Math.min(SLICE, to - player.cycles));
  }
  seconds += (performance.now() - begin) / 1000;
}

onmessage = async ({ data }) => {
  try {
    if (data.module) given = data;
    if (data.module || data.reset) {
      player = new Player(given.module, given.recording);
      seconds = 0;
    }
    if (data.to !== undefined) advance(data.to);
    await answer();
  } catch (error) {
    const known = error instanceof Difference || error instanceof WebAssembly.CompileError;
    postMessage({ error: known ? error.message : `the page failed: ${error.stack ?? error}` });
  }
};
