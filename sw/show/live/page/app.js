// The page: what runs, how fast, and the keys.

import { dark, forget } from './colours.js';
import { Chooser } from './chooser.js';
import { Run } from './run.js';
import { offered, prepared, recorded, simulator } from './source.js';

const $ = id => document.getElementById(id);

/** Cycles of a picture, by the place of the slider; 0 for as many as the machine does. */
const SPEEDS = [1, 4, 16, 64, 256, 1024, 4096, 0];

/** Milliseconds between two pictures, and of simulation for a picture at full speed. */
const PICTURE = 50, FULL = 60;

class App {
  constructor() {
    this.runs = [];
    this.running = false;
    this.quantum = 2000;
    this.turn = 0;              // a number that changes when what runs is replaced
    this.shown = 1;             // cycles of the last step
  }

  say(text, wrong = false) {
    $('message').textContent = text;
    $('message').classList.toggle('wrong', wrong);
    $('message').hidden = !text;
  }

  get done() {
    return this.runs.every(run => run.done);
  }

  get cycles() {
    return Math.max(0, ...this.runs.map(run => run.cycles));
  }

  /** Cycles of the next picture. */
  get step() {
    return SPEEDS[$('speed').value] || this.quantum;
  }

  async load(choice) {
    const turn = ++this.turn;
    delete document.body.dataset.ready;
    this.chooser.text.fault(null);
    this.running = false;
    this.buttons();
    try {
      const loaded = [];
      for (const { title, get } of choice.runs) {
        this.say(`${title}: preparing`);
        const recording = await get(text => turn === this.turn && this.say(`${title}: ${text}`));
        const module = await simulator(recording.simulator);
        if (turn !== this.turn) return;
        loaded.push([recording, module]);
      }
      this.runs.forEach(run => run.close());
      this.runs = loaded.map(([recording, module]) =>
        new Run(recording, module, $('card'), choice.positions));
      $('runs').replaceChildren(...this.runs.map(run => run.root));
      $('runs').dataset.count = this.runs.length;
      this.runs.forEach(run => {
        run.part('counter-box').open = this.runs.length === 1;
        run.units.forEach(({ root }) => root.addEventListener('toggle', () => this.draw()));
      });
      this.race();
      await Promise.all(this.runs.map(run => run.start()));
      if (turn !== this.turn) return;
      this.say('');
      this.draw();
      this.buttons();
      document.body.dataset.ready = String(turn);
      if (!matchMedia('(prefers-reduced-motion: reduce)').matches) this.start();
    } catch (error) {
      if (turn !== this.turn) return;
      this.say(error.message, true);
      this.chooser.text.fault(error.message);
    }
  }

  draw() {
    const axis = Math.max(1, ...this.runs.map(run => run.recording.result.cycles));
    const light = Math.max(4, Math.min(64, this.shown));
    this.runs.forEach(run => run.draw(light, axis));
    this.drawRace(axis);
    this.buttons();
  }

  /** Go on by so many cycles, all runs alike, and show it. */
  async advance(cycles) {
    const turn = this.turn, to = this.cycles + cycles;
    this.shown = cycles;
    const begin = performance.now();
    await Promise.all(this.runs.filter(run => !run.done).map(run => run.ask({ to })));
    if (turn !== this.turn) return false;
    const took = performance.now() - begin;
    const wish = this.quantum * FULL / Math.max(took, 1);
    if (cycles === this.quantum) {
      this.quantum = Math.round(Math.min(1e6, Math.max(500, (this.quantum + wish) / 2)));
    }
    return true;
  }

  async start() {
    if (this.running || !this.runs.length) return;
    if (this.done) await this.reset();
    this.running = true;
    this.buttons();
    const turn = this.turn;
    while (this.running && turn === this.turn && !this.done) {
      const begin = performance.now();
      const full = SPEEDS[$('speed').value] === 0;
      if (!await this.advance(this.step)) return;
      requestAnimationFrame(() => turn === this.turn && this.draw());
      const left = PICTURE - (performance.now() - begin);
      if (!full && left > 0) await new Promise(resolve => setTimeout(resolve, left));
    }
    if (turn !== this.turn) return;
    this.running = false;
    this.draw();
  }

  pause() {
    this.running = false;
    this.buttons();
  }

  async one(cycles) {
    if (this.running || this.busy || this.done) return;
    this.busy = true;
    if (await this.advance(cycles)) this.draw();
    this.busy = false;
  }

  async reset() {
    const turn = ++this.turn;
    this.running = false;
    await Promise.all(this.runs.map(run => {
      run.error = null;
      run.set('verdict', '');
      delete run.root.dataset.verdict;
      return run.ask({ reset: true });
    }));
    if (turn === this.turn) this.draw();
  }

  buttons() {
    const none = !this.runs.length;
    $('run').textContent = this.running ? 'Pause' : this.done && !none ? 'Again' : '▶ Run';
    $('run').disabled = none;
    for (const button of document.querySelectorAll('[data-step], #step-n')) {
      button.disabled = none || this.running || this.done;
    }
    $('reset').disabled = none;
    document.body.dataset.state = none ? 'empty' : this.running ? 'running'
                                : this.done ? 'done' : 'paused';
  }

  /** Side by side: a bar for each run. */
  race() {
    const box = $('race');
    box.hidden = this.runs.length < 2;
    box.replaceChildren(...this.runs.map(run => {
      const row = document.createElement('div');
      row.innerHTML = '<span></span><div class="track"><div class="bar"></div></div><b></b>';
      row.firstChild.textContent = run.recording.schedule;
      row.style.setProperty('--c', run.colour);
      return row;
    }));
  }

  drawRace(axis) {
    const order = this.runs.filter(run => run.done && run.error === null)
      .sort((a, b) => a.cycles - b.cycles);
    this.runs.forEach((run, i) => {
      const row = $('race').children[i];
      if (!row) return;
      row.querySelector('.bar').style.width = `${100 * run.cycles / axis}%`;
      const place = order.indexOf(run) + 1;
      row.dataset.place = place || '';
      row.lastChild.textContent = run.cycles.toLocaleString('en') +
        (place ? `, ${['first', 'second', 'third', 'fourth'][place - 1] ?? `${place}th`}` : '');
    });
  }

  keys(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      ' ': () => this.running ? this.pause() : this.start(),
      s: () => this.one(1), S: () => this.one(10), d: () => this.one(100),
      D: () => this.one(1000), r: () => this.reset(),
      '+': () => $('speed').stepUp(), '-': () => $('speed').stepDown(),
    }[event.key];
    if (!action || (event.key === ' ' && event.target.tagName === 'BUTTON')) return;
    event.preventDefault();
    action();
    this.speed();
  }

  speed() {
    const cycles = SPEEDS[$('speed').value];
    $('speed-text').textContent = cycles ? `${(cycles * 1000 / PICTURE).toLocaleString('en')} ` +
      'cycles a second' : 'as fast as it goes';
  }

  /** The theme has changed. */
  recolour() {
    forget();
    this.runs.forEach(run => run.recolour());
    this.draw();
    this.chooser?.editor.draw();
  }

  async begin() {
    $('run').addEventListener('click', () => this.running ? this.pause() : this.start());
    $('reset').addEventListener('click', () => this.reset());
    for (const button of document.querySelectorAll('[data-step]')) {
      button.addEventListener('click', () => this.one(Number(button.dataset.step)));
    }
    $('step-n').addEventListener('click', () => this.one(Math.max(1, Number($('n').value) || 1)));
    $('speed').addEventListener('input', () => this.speed());
    document.addEventListener('keydown', event => this.keys(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour());
    $('theme').addEventListener('click', () => {
      document.documentElement.dataset.theme = dark() ? 'light' : 'dark';
      this.recolour();
    });
    addEventListener('resize', () => this.draw());
    this.speed();
    this.buttons();
    $('choices').open = innerWidth >= 700;
    try {
      const offer = await offered();
      for (const [name, value] of Object.entries(offer.colours)) {
        document.documentElement.style.setProperty(`--${name}`, value);
      }
      forget();
      this.chooser = new Chooser(offer, choice => this.load(choice),
                                 (text, wrong) => this.say(text, wrong), { prepared, recorded });
      await this.chooser.begin();
    } catch (error) {
      this.say(`the page cannot begin: ${error.message}`, true);
    }
  }
}

const app = new App();
window.graphloom = app;
app.begin();
