// The graph, and the lanes of the last cycles lit on it.

import { colour, fitted, valueColour, warpColour } from './colours.js';
import { bytesOf } from './machine.js';

/** Where the vertices lie: [x, y] from 0 to 1 each. The same for the same graph. */
export function placed({ name, vertices }, { bases, neighbors }) {
  const road = /^road\b.*\bside=(\d+)/.exec(name);
  if (road && road[1] ** 2 === vertices) {
    const side = Number(road[1]);
    return Array.from({ length: vertices }, (_, v) => [
      (v % side + 0.5) / side, (Math.floor(v / side) + 0.5) / side]);
  }
  return springs(vertices, bases, neighbors);
}

/** Fruchterman and Reingold's springs, from a spiral in the order of degrees. */
function springs(count, bases, neighbors) {
  const degree = new Array(count).fill(0);
  bases.forEach((v, i) => { degree[v]++; degree[neighbors[i]]++; });
  const order = degree.map((_, v) => v).sort((a, b) => degree[b] - degree[a] || a - b);
  const x = new Float64Array(count), y = new Float64Array(count);
  order.forEach((v, i) => {
    const radius = Math.sqrt((i + 0.5) / count) / 2, angle = i * 2.39996;
    x[v] = radius * Math.cos(angle);
    y[v] = radius * Math.sin(angle);
  });
  const ideal = 0.8 / Math.sqrt(count);
  const rounds = Math.max(20, Math.min(200, Math.round(4e7 / (count * count + 1))));
  const dx = new Float64Array(count), dy = new Float64Array(count);
  for (let round = 0; round < rounds; round++) {
    dx.fill(0);
    dy.fill(0);
    for (let a = 0; a < count; a++) {
      if (!degree[a]) continue;
      for (let b = a + 1; b < count; b++) {
        if (!degree[b]) continue;
        const ux = x[a] - x[b], uy = y[a] - y[b];
        const push = ideal * ideal / (ux * ux + uy * uy + 1e-6);
        dx[a] += ux * push; dy[a] += uy * push;
        dx[b] -= ux * push; dy[b] -= uy * push;
      }
    }
    bases.forEach((a, i) => {
      const b = neighbors[i], ux = x[a] - x[b], uy = y[a] - y[b];
      const pull = Math.hypot(ux, uy) / ideal / Math.sqrt(Math.min(degree[a], degree[b]) + 1);
      dx[a] -= ux * pull; dy[a] -= uy * pull;
      dx[b] += ux * pull; dy[b] += uy * pull;
    });
    const heat = 0.08 * (1 - round / rounds);
    for (let v = 0; v < count; v++) {
      const far = Math.hypot(dx[v], dy[v]) || 1, step = Math.min(far, heat) / far;
      x[v] += dx[v] * step - x[v] * 0.004;
      y[v] += dy[v] * step - y[v] * 0.004;
    }
  }
  // Vertices without an arc stand in rows below the others.
  const alone = order.filter(v => !degree[v]).sort((a, b) => a - b);
  const held = order.filter(v => degree[v]);
  const columns = 48, rows = Math.ceil(alone.length / columns), room = Math.min(0.3, 0.045 * rows);
  const span = (values, length) => {
    const all = held.map(v => values[v]), low = Math.min(...all), high = Math.max(...all);
    return value => length * (value - low) / (high - low || 1);
  };
  const across = span(x, 1), down = span(y, 1 - room - (rows ? 0.03 : 0));
  const places = Array.from(x, (_, v) => [across(x[v]), down(y[v])]);
  alone.forEach((v, i) => {
    places[v] = [(i % columns) / (columns - 1),
                 1 - room + room * (Math.floor(i / columns) + 1) / rows];
  });
  return places;
}

/** Which vertex or edge an address is of. */
export class Addresses {
  constructor(buffers) {
    this.buffers = buffers.filter(({ of }) => of).sort((a, b) => a.address - b.address);
  }

  find(address) {
    for (const buffer of this.buffers) {
      const offset = address - buffer.address;
      if (offset >= 0 && offset < 4 * buffer.words) {
        const item = Math.floor(offset / buffer.width);
        return { of: buffer.of, item, list: buffer.list, name: buffer.name };
      }
    }
    return null;
  }
}

/** Whether a word of a result says that the vertex has no value. */
const none = word => word === 0xffffffff;

/** The colours of the first result: its values at the end give the scale. */
export class Scale {
  constructor({ result, steps }) {
    this.output = result.outputs.find(({ step }) => step !== null);
    if (!this.output) return;
    const words = new Uint32Array(bytesOf(steps[this.output.step][2]).buffer);
    const known = [...words].filter(word => !none(word));
    this.low = Math.min(...known);
    this.high = Math.max(...known);
    this.partial = known.length < words.length;
  }

  /** The place of a word on the scale, from 0 to 1; null if it is no value. */
  place(word) {
    if (none(word)) return null;
    return Math.max(0, Math.min(1, (word - this.low) / (this.high - this.low || 1)));
  }

  spelled(word) {
    const bits = this.output.fraction_bits;
    return bits ? (word / 2 ** bits).toPrecision(2) : word.toLocaleString('en');
  }

  /** Put the name of the result and its colours into an element. */
  show(root) {
    const node = (tag, className, textContent) => Object.assign(document.createElement(tag),
                                                                { className, textContent });
    const parts = [node('b', '', this.output.name)];
    const { low, high } = this, few = high - low <= 8;
    if (few) {
      for (let word = low; word <= high; word++) {
        const mark = node('span', 'swatch', this.spelled(word));
        mark.style.setProperty('--c', valueColour(this.place(word)));
        parts.push(mark);
      }
    } else {
      const bar = node('i', 'ramp', '');
      const stops = [...Array(9).keys()].map(i => valueColour(i / 8));
      bar.style.background = `linear-gradient(to right, ${stops})`;
      parts.push(node('span', '', this.spelled(low)), bar, node('span', '', this.spelled(high)));
    }
    if (this.partial) parts.push(node('span', 'swatch hollow', 'not reached'));
    root.replaceChildren(...parts);
    root.hidden = false;
  }
}

/** A picture of a graph, on which what lanes read and write lights up. */
export class GraphPicture {
  constructor(canvas, recording, positions) {
    this.canvas = canvas;
    this.lists = recording.lists;
    this.positions = positions;
    this.addresses = new Addresses(recording.buffers);
    this.count = recording.graph.vertices;
    this.degree = new Array(this.count).fill(0);
    this.lists[0].bases.forEach(v => this.degree[v]++);
    this.scale = new Scale(recording);
    this.values = null;         // the words of the first result, as far as it is computed
  }

  /** Items that the last cycles of a picture touched, and those of the last access of each warp:
   * {vertices, edges}, each item with its warp and how lately, from 0 to 1. */
  lit(records, cycles) {
    const vertices = new Map(), edges = new Map(), last = new Map();
    const start = Math.max(0, records.count - cycles);
    for (let i = 0; i < records.count; i++) {
      const access = records.access(i);
      if (access) last.set(access.warp, i);
    }
    for (let i = 0; i < records.count; i++) {
      const access = records.access(i);
      if (!access || (i < start && last.get(access.warp) !== i)) continue;
      const late = Math.max(0.5, (i - start + 1) / (records.count - start));
      for (const address of access.addresses) {
        const found = this.addresses.find(address);
        if (!found) continue;
        const mark = { warp: access.warp, late };
        if (found.of === 'vertex') vertices.set(found.item, mark);
        else edges.set(`${found.list}:${found.item}`, { ...mark, ...found });
      }
    }
    return { vertices, edges };
  }

  draw(records, cycles) {
    const { context, width, height } = fitted(this.canvas);
    const edge = Math.min(width, height) > 300 ? 18 : 10;
    const at = v => {
      const [x, y] = this.positions[v];
      return [edge + x * (width - 2 * edge), edge + y * (height - 2 * edge)];
    };
    const { vertices, edges } = records ? this.lit(records, cycles)
                                        : { vertices: new Map(), edges: new Map() };
    const { bases, neighbors } = this.lists[0];
    context.strokeStyle = colour('arc');
    context.lineWidth = 0.6;
    context.globalAlpha = Math.max(0.12, Math.min(0.9, 300 / bases.length));
    context.beginPath();
    bases.forEach((v, i) => {
      context.moveTo(...at(v));
      context.lineTo(...at(neighbors[i]));
    });
    context.stroke();
    for (const { warp, late, list, item } of edges.values()) {
      const { bases: from, neighbors: to } = this.lists[list];
      if (item >= from.length) continue;
      context.globalAlpha = 0.25 + 0.75 * late;
      context.strokeStyle = warpColour(warp);
      context.lineWidth = 1.2 + 1.4 * late;
      context.beginPath();
      context.moveTo(...at(from[item]));
      context.lineTo(...at(to[item]));
      context.stroke();
    }
    const base = this.count > 400 ? 2 : this.count > 150 ? 3 : 4;
    for (let v = 0; v < this.count; v++) {
      const mark = vertices.get(v);
      const radius = base + Math.min(base * 1.6, Math.sqrt(this.degree[v]) * base / 5);
      context.globalAlpha = 1;
      const value = this.values ? this.scale.place(this.values[v]) : null;
      context.fillStyle = value === null ? colour('panel') : valueColour(value);
      context.strokeStyle = colour('vertex');
      context.lineWidth = 1.2;
      context.beginPath();
      context.arc(...at(v), radius, 0, 2 * Math.PI);
      context.fill();
      if (value === null) context.stroke();
      if (!mark) continue;
      context.globalAlpha = 0.3 + 0.7 * mark.late;
      context.fillStyle = warpColour(mark.warp);
      context.beginPath();
      context.arc(...at(v), radius + 2.2 * mark.late, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    if (this.count <= 40) {
      context.fillStyle = colour('text');
      context.font = '11px system-ui, sans-serif';
      context.textAlign = 'center';
      context.textBaseline = 'bottom';
      for (let v = 0; v < this.count; v++) {
        const [x, y] = at(v);
        context.fillText(v, x, y - 7);
      }
    }
  }
}
