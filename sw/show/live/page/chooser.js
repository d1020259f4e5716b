// The form in which a user chooses what runs: prepared runs of a static site, or anything that the
// server plans.

import { Editor } from './editor.js';
import { sent } from './source.js';
import { ProgramText } from './text.js';

const $ = id => document.getElementById(id);

/** Runs that race at once, at most. */
const MOST = 4;

/** The choices that a link keeps, beside schedules and a program. */
const FIELDS = ['preset', 'graph', 'algorithm', 'direction'];
const LIVE = [...FIELDS, 'gather', 'source', 'iterations', 'parameters'];

const unique = values => [...new Set(values)];

export class Chooser {
  constructor(offer, load, say, source) {
    this.offer = offer;
    this.load = load;
    this.say = say;
    this.source = source;
    this.live = offer.mode === 'live';
    this.positions = undefined;
    this.order = [];
    this.drawn = 0;             // number of the last graph that was drawn by hand
    this.editor = new Editor($('editor'), editor => this.counted(editor));
    this.text = new ProgramText(offer.choices?.programs ?? {}, () => this.parameters());
    document.body.dataset.mode = offer.mode;
  }

  async begin() {
    $('choose').addEventListener('submit', event => {
      event.preventDefault();
      this.go();
    });
    $('choose').addEventListener('change', event => this.changed(event.target));
    addEventListener('hashchange', () => {
      this.fill();
      this.go();
    });
    if (this.live) this.files();
    else $('graph').replaceWith(Object.assign(document.createElement('select'), { id: 'graph' }));
    this.fill();
    await this.go();
  }

  /** Choose what the link says, and for the rest what the page begins with. */
  fill() {
    const link = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const given = { ...this.offer.first, schedule: this.offer.first.schedule.join(), ...link };
    given.schedule = this.order = given.schedule.split(',');
    if (this.live) this.fillLive(given);
    else this.fillStatic(given);
  }

  /** Put what is chosen into the address, which then leads here again. */
  link() {
    const fields = (this.live ? LIVE : FIELDS).filter(name => !$(name).closest('label').hidden);
    const choice = Object.fromEntries(fields.map(name => [name, $(name).value.trim()]));
    choice.schedule = this.chosen.join();
    if (this.live && this.text.edited) choice.program = this.text.edited;
    history.replaceState(null, '', `#${new URLSearchParams(choice)}`);
  }

  options(select, values, chosen) {
    select.replaceChildren(...values.map(value => new Option(value || '–', value)));
    if (values.includes(chosen)) select.value = chosen;
  }

  schedules(values, chosen) {
    $('schedules').replaceChildren(...values.map(value => {
      const label = document.createElement('label');
      const box = Object.assign(document.createElement('input'),
                                { type: 'checkbox', value, checked: chosen.includes(value) });
      label.append(box, ` ${value}`);
      return label;
    }));
  }

  /** The schedules that are chosen, in the order of the link as far as it names them. */
  get chosen() {
    const place = name => (this.order.indexOf(name) + 1) || MOST + 1;
    return [...$('schedules').querySelectorAll('input:checked')].map(box => box.value)
      .sort((a, b) => place(a) - place(b));
  }

  changed(target) {
    if (target.id === 'graph') this.positions = undefined;
    if (!this.live && target.closest('select')) this.narrow(target.id);
    if (this.live && target.id === 'algorithm') {
      this.text.select(target.value);
      this.parameters();
    }
    if (this.chosen.length > MOST) {
      target.checked = false;
      this.say(`at most ${MOST} schedules race at once`, true);
    }
    this.link();
  }

  // Prepared runs

  fillStatic(given) {
    this.options($('preset'), unique(this.offer.cases.map(({ preset }) => preset)), given.preset);
    this.narrow('preset', given);
    this.schedules(this.matching().map(({ schedule }) => schedule), given.schedule);
    if (!this.chosen.length) $('schedules').querySelector('input').checked = true;
  }

  matching(fields = FIELDS) {
    return this.offer.cases.filter(one => fields.every(field => one[field] === $(field).value));
  }

  /** Fill the fields behind the one that has changed. */
  narrow(changed, wish = {}) {
    const chosen = this.chosen;
    for (let i = FIELDS.indexOf(changed) + 1; i < FIELDS.length; i++) {
      const select = $(FIELDS[i]), before = wish[FIELDS[i]] ?? select.value;
      this.options(select, unique(this.matching(FIELDS.slice(0, i)).map(one => one[FIELDS[i]])),
                   before);
    }
    const schedules = this.matching().map(({ schedule }) => schedule);
    const kept = chosen.filter(name => schedules.includes(name));
    this.schedules(schedules, kept.length ? kept : schedules.slice(-1));
  }

  // Runs that the server plans

  fillLive(given) {
    const { choices } = this.offer;
    this.options($('preset'), choices.preset, given.preset);
    this.options($('algorithm'), choices.algorithm, given.algorithm);
    this.options($('direction'), ['', ...choices.direction], given.direction);
    this.options($('gather'), ['', ...choices.gather], given.gather ?? '');
    $('graphs').replaceChildren(...choices.graph.map(text => new Option(text)));
    for (const name of ['graph', 'source', 'iterations', 'parameters']) $(name).value = given[name] ?? '';
    this.schedules(choices.schedule, given.schedule);
    this.text.select($('algorithm').value, given.program ?? this.text.texts[$('algorithm').value]);
    this.parameters();
  }

  parameters() {
    const known = this.offer.choices.parameters[$('algorithm').value] ?? [];
    for (const name of ['source', 'iterations']) {
      $(name).closest('label').hidden = !(this.text.has(name) ?? known.includes(name));
    }
    $('parameters').closest('label').hidden = this.text.edited === undefined;
  }

  request(schedule) {
    const request = { algorithm: $('algorithm').value, graph: $('graph').value.trim(), schedule,
                      preset: $('preset').value, program: this.text.edited };
    for (const name of ['direction', 'gather', 'source', 'parameters']) {
      const field = $(name);
      if (field.value && !field.closest('label').hidden) request[name] = field.value.trim();
    }
    if ($('iterations').value && !$('iterations').closest('label').hidden) {
      request.iterations = Number($('iterations').value);
    }
    return request;
  }

  // Graphs of the user

  files() {
    const take = async file => {
      if (!file) return;
      try {
        await this.use(file.name, await file.arrayBuffer());
      } catch (error) {
        this.say(error.message, true);
      }
    };
    $('file').addEventListener('change', () => take($('file').files[0]));
    for (const name of ['dragover', 'drop']) {
      document.addEventListener(name, event => {
        event.preventDefault();
        document.body.classList.toggle('dropping', name === 'dragover');
        if (name === 'drop') take(event.dataTransfer.files[0]);
      });
    }
    document.addEventListener('dragleave', () => document.body.classList.remove('dropping'));
    $('draw').addEventListener('toggle', () => this.editor.draw());
    $('run-program').addEventListener('click', () => this.go());
    $('clear').addEventListener('click', () => this.editor.clear());
    $('both').addEventListener('change', () => this.counted(this.editor));
    $('use').addEventListener('click', async () => {
      const { positions } = this.editor;
      try {
        await this.use(`drawn-${++this.drawn}.mtx`, this.editor.text($('both').checked), positions);
      } catch (error) {
        this.say(error.message, true);
      }
    });
    $('save').addEventListener('click', () => {
      const blob = new Blob([this.editor.text($('both').checked)], { type: 'text/plain' });
      const link = Object.assign(document.createElement('a'), {
        href: URL.createObjectURL(blob), download: `drawn-${Math.max(1, this.drawn)}.mtx` });
      link.click();
      URL.revokeObjectURL(link.href);
    });
    this.counted(this.editor);
  }

  counted({ vertices, arcs }) {
    $('drawn').textContent = `${vertices.length} vertices, ${arcs.length} arcs`;
    $('use').disabled = $('save').disabled = !arcs.length;
  }

  /** Run on a graph that the user has made. */
  async use(name, contents, positions) {
    $('graph').value = await sent(name, contents);
    this.positions = positions;
    await this.go();
  }

  /** Load what is chosen. */
  async go() {
    const chosen = this.chosen;
    if (!chosen.length) {
      this.say('choose a schedule', true);
      return;
    }
    const runs = chosen.map(schedule => {
      if (this.live) {
        const request = this.request(schedule);
        return { title: schedule, get: tell => this.source.recorded(request, tell) };
      }
      const one = this.matching().find(one => one.schedule === schedule);
      return { title: schedule, get: () => this.source.prepared(one.file) };
    });
    this.link();
    $('chosen').textContent = `${this.live && this.text.edited ? 'a program' : $('algorithm').value} ` +
      `on ${$('graph').value}, ${$('preset').value}: ${chosen.join(', ')}`;
    await this.load({ runs, positions: this.positions });
  }
}
