// Warps as timelines: the last cycles one by one, and the whole run in buckets.

import { colour, fitted, machineColour, stateColour, STATES } from './colours.js';

const LABEL = 64;       // pixels for names at the left

function label(context, text, y) {
  context.fillStyle = colour('muted');
  context.font = '11px system-ui, sans-serif';
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  context.fillText(text, LABEL - 8, y, LABEL - 10);
}

/** Pixels that the last cycles need. */
export function detailHeight(hardware, machines) {
  return (hardware.warps + machines) * (hardware.warps > 4 ? 15 : 24) + 22;
}

/** The last cycles: a row for each warp, then one for each state machine of the unit. */
export function drawDetail(canvas, records, hardware, machines) {
  const { context, width, height } = fitted(canvas);
  const rows = hardware.warps + machines.length;
  const pitch = (height - 20) / rows, bar = pitch - 3;
  const room = width - LABEL - 4;
  const shown = Math.min(records.count, Math.max(32, Math.floor(room / 5)));
  const step = room / Math.max(shown, Math.floor(room / 5));
  const start = records.count - shown;
  for (let warp = 0; warp < hardware.warps; warp++) {
    const y = warp * pitch;
    label(context, `warp ${warp}`, y + bar / 2);
    for (let i = 0; i < shown; i++) {
      context.fillStyle = stateColour(records.state(start + i, warp));
      context.fillRect(LABEL + i * step, y, step - 0.6, bar);
    }
  }
  for (let i = 0; i < shown; i++) {
    const issue = records.issue(start + i);
    if (!issue) continue;
    let lanes = 0;
    for (let mask = issue.mask; mask; mask &= mask - 1) lanes++;
    const tall = Math.max(3, bar * lanes / hardware.lanes);
    context.fillStyle = colour('issued');
    context.fillRect(LABEL + i * step, issue.warp * pitch + bar - tall, step - 0.6, tall);
  }
  machines.forEach((machine, place) => {
    const y = (hardware.warps + place) * pitch;
    label(context, machine.short, y + bar / 2);
    let begin = 0;
    for (let i = 1; i <= shown; i++) {
      const state = records.watched(start + begin, place);
      if (i < shown && records.watched(start + i, place) === state) continue;
      context.fillStyle = machineColour(state);
      context.fillRect(LABEL + begin * step, y, (i - begin) * step - 0.6, bar);
      const name = machine.states[state] ?? String(state);
      context.font = '10px system-ui, sans-serif';
      if (context.measureText(name).width < (i - begin) * step - 6) {
        context.fillStyle = colour('on-bar');
        context.textAlign = 'left';
        context.fillText(name, LABEL + begin * step + 3, y + bar / 2);
      }
      begin = i;
    }
  });
  ticks(context, records.first + start, shown, step, height);
}

function ticks(context, first, shown, step, height) {
  const every = [10, 20, 50, 100].find(n => n * step >= 70) ?? 100;
  context.fillStyle = colour('muted');
  context.font = '10px system-ui, sans-serif';
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  for (let i = (every - first % every) % every; i < shown - 6; i += every) {
    const x = LABEL + i * step;
    context.fillRect(x, height - 20, 1, 5);
    context.fillText((first + i).toLocaleString('en'), x + 3, height - 6);
  }
}

/** The whole run so far: for each warp, how its cycles divide among states. `total` is the length
 * of the axis in cycles. */
export function drawOverview(canvas, picture, hardware, launches, total) {
  const { context, width, height } = fitted(canvas);
  const { overview, bucketWords, bucketCycles } = picture;
  const room = width - LABEL - 4, scale = room / Math.max(total, 1);
  const pitch = (height - 20) / hardware.warps, bar = pitch - 2;
  const counts = 3 + STATES.length;
  const buckets = overview.length / bucketWords;
  for (let warp = 0; warp < hardware.warps; warp++) {
    if (pitch >= 11 || warp % 2 === 0) label(context, `warp ${warp}`, warp * pitch + bar / 2);
    for (let bucket = 0; bucket < buckets; bucket++) {
      const at = bucket * bucketWords + counts + warp * STATES.length;
      let all = 0;
      for (let state = 0; state < STATES.length; state++) all += overview[at + state];
      if (!all) continue;
      const x = LABEL + bucket * bucketCycles * scale;
      const wide = Math.max(all * scale, 0.5) + 0.3;
      let y = warp * pitch + bar;
      for (let state = 1; state < STATES.length; state++) {
        const tall = bar * overview[at + state] / all;
        if (!tall) continue;
        context.fillStyle = stateColour(state);
        context.fillRect(x, y - tall, wide, tall);
        y -= tall;
      }
    }
  }
  context.font = '10px system-ui, sans-serif';
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  let free = 0;
  for (const { name, cycle } of launches) {
    const x = LABEL + cycle * scale;
    context.fillStyle = colour('rule');
    context.fillRect(x, 0, 1, height - 16);
    if (x < free) continue;
    const wide = context.measureText(name).width;
    if (x + wide > width) continue;
    context.fillStyle = colour('muted');
    context.fillText(name, x + 2, height - 5);
    free = x + wide + 10;
  }
}

/** Sums over the whole run so far. */
export function sums({ overview, bucketWords }) {
  const found = { issued: 0, lanes: 0, stalls: new Array(STATES.length).fill(0) };
  for (let at = 0; at < overview.length; at += bucketWords) {
    found.issued += overview[at];
    found.lanes += overview[at + 1];
    for (let state = 0; state < STATES.length; state++) {
      found.stalls[state] += overview[at + 3 + state];
    }
  }
  return found;
}
