// A graph drawn by hand: click for a vertex, drag from vertex to vertex for an arc, and a click on a
// vertex with Shift, or Delete, to take the vertex away.

import { colour, fitted } from './colours.js';

const NEAR = 16;

export class Editor {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.vertices = [];
    this.arcs = [];
    this.from = null;
    canvas.addEventListener('pointerdown', event => this.down(event));
    canvas.addEventListener('pointermove', event => this.move(event));
    canvas.addEventListener('pointerup', event => this.up(event));
    canvas.addEventListener('keydown', event => {
      if (event.key === 'Delete' || event.key === 'Backspace') {
        event.preventDefault();
        this.remove(this.vertices.length - 1);
      }
    });
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  near([x, y]) {
    return this.vertices.findIndex(([vx, vy]) => Math.hypot(vx - x, vy - y) < NEAR);
  }

  down(event) {
    const place = this.at(event), found = this.near(place);
    this.canvas.setPointerCapture(event.pointerId);
    if (event.shiftKey && found >= 0) {
      this.remove(found);
      return;
    }
    if (found < 0) this.vertices.push(place);
    this.from = found < 0 ? this.vertices.length - 1 : found;
    this.pointer = place;
    this.draw();
  }

  move(event) {
    if (this.from === null) return;
    this.pointer = this.at(event);
    this.draw();
  }

  up(event) {
    if (this.from === null) return;
    const to = this.near(this.at(event));
    const known = this.arcs.some(([a, b]) => a === this.from && b === to);
    if (to >= 0 && to !== this.from && !known) this.arcs.push([this.from, to]);
    this.from = null;
    this.draw();
    this.changed(this);
  }

  remove(vertex) {
    if (vertex < 0) return;
    this.vertices.splice(vertex, 1);
    this.arcs = this.arcs.filter(arc => !arc.includes(vertex))
      .map(arc => arc.map(v => v > vertex ? v - 1 : v));
    this.draw();
    this.changed(this);
  }

  clear() {
    this.vertices = [];
    this.arcs = [];
    this.draw();
    this.changed(this);
  }

  /** The text of a Matrix Market file, as `graphloom run` reads it. */
  text(both) {
    const arcs = both ? [...this.arcs, ...this.arcs.map(([a, b]) => [b, a])
      .filter(([a, b]) => !this.arcs.some(([c, d]) => a === c && b === d))] : this.arcs;
    const size = this.vertices.length;
    return ['%%MatrixMarket matrix coordinate pattern general', `${size} ${size} ${arcs.length}`,
            ...arcs.map(([a, b]) => `${a + 1} ${b + 1}`), ''].join('\n');
  }

  /** Positions from 0 to 1, as wide and as high as the drawing is. */
  get positions() {
    const spans = [0, 1].map(axis => {
      const all = this.vertices.map(place => place[axis]), low = Math.min(...all);
      return place => (place[axis] - low) / (Math.max(...all) - low || 1);
    });
    return this.vertices.map(place => spans.map(span => span(place)));
  }

  draw() {
    const { context } = fitted(this.canvas);
    context.strokeStyle = colour('muted');
    context.fillStyle = colour('muted');
    context.lineWidth = 1.4;
    for (const [a, b] of this.arcs) this.arrow(context, this.vertices[a], this.vertices[b]);
    if (this.from !== null) {
      context.setLineDash([4, 4]);
      this.arrow(context, this.vertices[this.from], this.pointer);
      context.setLineDash([]);
    }
    this.vertices.forEach(([x, y], v) => {
      context.fillStyle = colour('accent');
      context.beginPath();
      context.arc(x, y, 10, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = colour('on-accent');
      context.font = '11px system-ui, sans-serif';
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillText(v, x, y + 0.5);
    });
  }

  arrow(context, [x1, y1], [x2, y2]) {
    const far = Math.hypot(x2 - x1, y2 - y1);
    if (far < 14) return;
    const ux = (x2 - x1) / far, uy = (y2 - y1) / far, x = x2 - 11 * ux, y = y2 - 11 * uy;
    context.beginPath();
    context.moveTo(x1 + 11 * ux, y1 + 11 * uy);
    context.lineTo(x, y);
    context.stroke();
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 8 * ux + 4 * uy, y - 8 * uy - 4 * ux);
    context.lineTo(x - 8 * ux - 4 * uy, y - 8 * uy + 4 * ux);
    context.fill();
  }
}
