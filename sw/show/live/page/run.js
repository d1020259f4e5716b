// One run on the page: its worker, and the card that shows it.

import { STATES } from './colours.js';
import { GraphPicture, placed } from './graph.js';
import { Records } from './records.js';
import { detailHeight, drawDetail, drawOverview, sums } from './timeline.js';
import { UnitPanel } from './unit.js';

const number = value => value.toLocaleString('en');

const percent = (part, whole) => {
  if (!whole) return '–';
  return part && part < whole / 100 ? '< 1 %' : `${(100 * part / whole).toFixed(0)} %`;
};

export class Run {
  /** @param recording a run; @param module its compiled simulator; @param template of the card */
  constructor(recording, module, template, positions) {
    this.recording = recording;
    this.module = module;
    this.root = template.content.firstElementChild.cloneNode(true);
    this.waiting = [];
    this.picture = null;
    this.error = null;
    const { hardware } = recording;
    this.machines = recording.inside.filter(({ kind }) => kind === 'state').slice(0, 4)
      .map(({ title, states }) => ({ states, short: title === 'state machine' ? 'FSM' : title }));
    this.colour = `var(--schedule-${recording.schedule}, var(--vertex))`;
    this.root.style.setProperty('--schedule', this.colour);
    this.set('name', recording.schedule);
    this.set('what', `${recording.algorithm} on ${recording.graph.name}, ${hardware.name}: ` +
      `${hardware.warps} warps × ${hardware.lanes} lanes`);
    this.set('total', number(recording.result.cycles));
    this.set('command', recording.command);
    this.root.querySelector('.copy').addEventListener('click', event => this.copy(event.target));
    this.part('detail').style.height = `${detailHeight(hardware, this.machines.length)}px`;
    this.part('overview').style.height = `${Math.max(70, 14 * hardware.warps) + 20}px`;
    if (recording.lists.length) {
      this.graph = new GraphPicture(this.part('graph'), recording,
                                    positions ?? placed(recording.graph, recording.lists[0]));
    } else {
      this.part('graph').replaceWith(Object.assign(document.createElement('p'), {
        className: 'note', textContent: 'This graph is too large, or its format too far from a ' +
          'list of arcs, to be drawn.' }));
    }
    if (this.graph?.scale.output) this.graph.scale.show(this.part('scale'));
    for (let warp = 0; warp < hardware.warps && this.graph; warp++) {
      const mark = Object.assign(document.createElement('span'),
                                 { className: 'mark', textContent: `warp ${warp}` });
      mark.style.setProperty('--c', `var(--warp-${warp % 8})`);
      this.part('marks').append(mark);
    }
    this.units = hardware.units.map(unit => new UnitPanel(recording, unit));
    this.part('units').append(...this.units.map(({ root }) => root));
    this.worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
    this.worker.onmessage = ({ data }) => this.heard(data);
    this.worker.onerror = event => this.heard({ error: event.message ?? 'the worker ended' });
  }

  part(name) {
    return this.root.querySelector(`[data-part=${name}]`);
  }

  set(name, text) {
    const part = this.part(name);
    if (part.textContent !== text) part.textContent = text;
  }

  async copy(button) {
    try {
      await navigator.clipboard.writeText(this.recording.command);
      button.textContent = 'copied';
    } catch {
      getSelection().selectAllChildren(this.part('command'));
      button.textContent = 'press Ctrl-C';
    }
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  }

  /** Send a message to the worker; resolves with its picture. */
  ask(message) {
    return new Promise(resolve => {
      this.waiting.push(resolve);
      this.worker.postMessage(message);
    });
  }

  start() {
    return this.ask({ module: this.module, recording: this.recording });
  }

  heard(picture) {
    if (picture.error) this.error = picture.error;
    else this.picture = picture;
    this.waiting.shift()?.(picture);
  }

  get done() {
    return this.error !== null || (this.picture?.done ?? false);
  }

  get cycles() {
    return this.picture?.cycles ?? 0;
  }

  close() {
    this.worker.terminate();
    this.root.remove();
  }

  /** The theme has changed. */
  recolour() {
    if (this.graph?.scale.output) this.graph.scale.show(this.part('scale'));
  }

  /** Show the last picture; `light` is the number of cycles whose accesses are lit, `axis` the
   * length of the overview. */
  draw(light, axis) {
    const { picture, recording } = this;
    if (this.error !== null) {
      this.set('verdict', this.error);
      this.root.dataset.verdict = 'differs';
    }
    if (!picture) return;
    const { hardware, result } = recording;
    const records = new Records(picture, hardware);
    this.set('cycles', number(picture.cycles));
    this.set('launch', picture.launch || '–');
    this.part('progress').value = picture.cycles / result.cycles;
    drawDetail(this.part('detail'), records, hardware, this.machines);
    drawOverview(this.part('overview'), picture, hardware, picture.launches, axis);
    if (this.graph) {
      this.graph.values = picture.values;
      this.graph.draw(picture.done ? null : records, light);
    }
    this.units.forEach(unit => unit.show(picture.signals));
    this.drawNow(records, hardware);
    this.drawFigures(picture, hardware);
    if (picture.done && this.error === null) this.conclude(picture, result);
  }

  /** The newest instruction of each warp. */
  drawNow(records, hardware) {
    const last = new Array(hardware.warps).fill(null);
    for (let i = 0; i < records.count; i++) {
      const issue = records.issue(i);
      if (issue) last[issue.warp] = { ...issue, cycle: records.first + i };
    }
    const rows = last.map((issue, warp) => {
      const state = records.count ? records.state(records.count - 1, warp) : 0;
      const text = issue ? this.recording.program.lines[issue.pc / 4] ?? '' : '';
      const lanes = issue ? [...Array(hardware.lanes).keys()]
        .map(lane => issue.mask >>> lane & 1 ? '●' : '○').join('') : '';
      const pc = issue ? issue.pc.toString(16).padStart(4, '0') : '';
      return [`warp ${warp}`, hardware.state_labels[state] ?? '', pc, text.trim(), lanes, state];
    });
    const body = this.part('now');
    while (body.rows.length < rows.length) {
      const row = body.insertRow();
      for (let i = 0; i < 5; i++) row.insertCell();
    }
    rows.forEach((texts, warp) => {
      const row = body.rows[warp];
      row.dataset.state = STATES[texts[5]];
      for (let i = 0; i < 5; i++) {
        if (row.cells[i].textContent !== texts[i]) row.cells[i].textContent = texts[i];
      }
    });
  }

  drawFigures(picture, hardware) {
    const { issued, lanes, stalls } = sums(picture);
    const { cycles } = picture;
    const figures = {
      'instructions': number(issued), 'issue slots used': percent(issued, cycles),
      'lanes in use': percent(lanes, issued * hardware.lanes),
      ...Object.fromEntries(hardware.state_labels.map((name, i) => [`wait: ${name}`, stalls[i]])
        .slice(2).filter(([, count]) => count).map(([name, count]) => [name,
                                                                      percent(count, cycles)])),
    };
    if (picture.seconds > 0.05) {
      figures['simulated cycles a second'] = number(
        Math.round(picture.simulated / picture.seconds / 1000) * 1000);
    }
    this.table('figures', Object.entries(figures));
    const counters = Object.entries(picture.counters);
    this.part('counter-note').hidden = counters.length > 0;
    this.table('counters', counters.map(([name, value]) => [name, number(value)]));
  }

  table(name, entries) {
    const body = this.part(name);
    while (body.rows.length > entries.length) body.deleteRow(-1);
    while (body.rows.length < entries.length) {
      const row = body.insertRow();
      row.insertCell();
      row.insertCell();
    }
    entries.forEach((texts, i) => texts.forEach((text, j) => {
      const cell = body.rows[i].cells[j];
      if (cell.textContent !== text) cell.textContent = text;
    }));
  }

  /** What the comparison with the recording says. */
  conclude(picture, result) {
    const same = picture.cycles === result.cycles;
    const hash = picture.checksum === null ? 'results as words'
                                           : `checksum ${picture.checksum.slice(0, 16)}`;
    const equal = same && (picture.checksum === null || picture.checksum === result.checksum);
    this.root.dataset.verdict = equal ? 'equal' : 'differs';
    this.set('verdict', equal
      ? `equal to the native simulator: ${number(picture.cycles)} cycles, ` +
        `${Object.keys(picture.counters).length} counters, ${hash}, ` +
        `${number(picture.compared)} words that the host read`
      : `differs from the native simulator: ${number(picture.cycles)} cycles instead of ` +
        `${number(result.cycles)}, ${hash}`);
  }
}
