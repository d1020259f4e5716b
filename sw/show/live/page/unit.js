// The inside of the unit that hands out edges: state machines, registers and tables, as sim/inside.py
// lists them. Values that have changed since the last picture are marked.

const NOTHING = 0xffffffff;

/** Fields that hold the location of an edge. */
const EDGES = new Set(['loc', 'eid', 'end']);

function made(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** A function from words to texts. The location of an edge, which is the address of its neighbour
 * or a quarter of the address, becomes the number of the edge. */
function spelling({ buffers }) {
  const places = buffers.filter(({ name }) => name.startsWith('neighbors'));
  return (word, field) => {
    if (word === NOTHING) return '–';
    if (EDGES.has(field)) {
      for (const { address, words } of places) {
        for (const edge of [word - address / 4, (word - address) / 4]) {
          if (Number.isInteger(edge) && edge >= 0 && edge <= words) return `e${edge}`;
        }
      }
    }
    return word.toLocaleString('en');
  };
}

/** One signal of the table, and its place on the page. */
class Signal {
  constructor(description, spell) {
    this.description = description;
    this.spell = spell;
    this.before = [];
    const { kind, title } = description;
    this.body = made('div', { className: `signal ${kind}` });
    this.root = made(kind === 'entries' ? 'details' : 'div', { className: 'signal-box' },
                     made(kind === 'entries' ? 'summary' : 'span',
                          { textContent: title, className: 'signal-title' }), this.body);
    if (kind === 'entries') this.root.open = true;
    this[`make_${kind}`]();
  }

  make_state() {
    this.names = this.description.states.map(name => made('span', { textContent: name }));
    const { states } = this.description, paper = states.every(name => /^S\d/.test(name));
    const order = [...this.names.keys()];
    if (paper) order.sort((a, b) => states[a] < states[b] ? -1 : 1);
    this.body.append(...order.map(i => this.names[i]));
  }

  show_state([[number]]) {
    this.names.forEach((name, i) => name.classList.toggle('now', i === number));
    if (!this.names.length) this.body.textContent = number;
  }

  make_number() {
    this.cells = [made('b')];
    this.body.append(...this.cells);
  }

  show_number([words]) {
    this.cell(0, this.spell(words[0], this.description.fields[0]), true);
  }

  make_mask() {
    this.cells = [];
    for (let row = 0; row < Math.max(1, this.description.depth); row++) {
      const line = made('div', { className: 'bits' });
      for (let bit = 0; bit < this.description.width; bit++) {
        this.cells.push(made('i'));
        line.append(this.cells.at(-1));
      }
      this.body.append(line);
    }
  }

  show_mask(rows) {
    rows.forEach((words, row) => {
      for (let bit = 0; bit < this.description.width; bit++) {
        const on = words[bit >> 5] >>> (bit & 31) & 1;
        this.cells[row * this.description.width + bit].classList.toggle('on', on === 1);
      }
    });
  }

  make_entries() {
    const { fields, width, depth } = this.description;
    this.items = width / (32 * fields.length);
    this.cells = [];
    const table = made('table');
    const head = made('tr', {}, made('th', { textContent: fields.length > 1 ? fields.join(' · ')
                                                                          : fields[0] }));
    for (let item = 0; item < this.items; item++) {
      head.append(made('th', { textContent: this.items > 1 ? `lane ${item}` : '' }));
    }
    table.append(head);
    for (let row = 0; row < Math.max(1, depth); row++) {
      const line = made('tr', {}, made('th', { textContent: depth ? `row ${row}` : '' }));
      for (let item = 0; item < this.items; item++) {
        this.cells.push(made('td'));
        line.append(this.cells.at(-1));
      }
      table.append(line);
    }
    this.body.append(table);
  }

  show_entries(rows, valid) {
    const count = this.description.fields.length;
    rows.forEach((words, row) => {
      for (let item = 0; item < this.items; item++) {
        const number = row * this.items + item;
        const there = valid ? valid[row]?.[item >> 5] >>> (item & 31) & 1 : true;
        const texts = [];
        for (let field = 0; field < count; field++) {
          texts.push(this.spell(words[item * count + field], this.description.fields[field]));
        }
        this.cell(number, texts.join(' · '), there);
      }
    });
  }

  cell(number, text, there) {
    const cell = this.cells[number];
    const changed = this.before[number] !== undefined && this.before[number] !== text;
    if (this.before[number] !== text) cell.textContent = text;
    this.before[number] = text;
    cell.classList.toggle('changed', changed);
    cell.classList.toggle('absent', !there);
  }

  show(rows, valid) {
    this[`show_${this.description.kind}`](rows, valid);
  }
}

/** The signals of a unit, in a box that is folded if the run does not use the unit. */
export class UnitPanel {
  constructor(recording, { title, module, used }) {
    this.inside = recording.inside;
    const spell = spelling(recording);
    this.signals = new Map([...this.inside.entries()].filter(
      ([, signal]) => `${signal.module}.`.startsWith(`${module}.`)).map(
      ([number, description]) => [number, new Signal(description, spell)]));
    this.root = made('details', { open: used },
      made('summary', { textContent: `inside the unit: ${title}${used ? '' : ', idle in this run'}` }),
      made('div', { className: 'scroll' },
           made('div', { className: 'unit' }, ...[...this.signals.values()].map(
             ({ root }) => root))));
  }

  show(values) {
    if (!this.root.open) return;
    this.signals.forEach((signal, number) => {
      const { valid } = signal.description;
      const mask = valid && this.inside.findIndex(({ title }) => title === valid);
      signal.show(values[number], valid ? values[mask] : null);
    });
  }
}
