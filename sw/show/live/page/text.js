// The text of a program, which the server checks and compiles, with its faults beside it.

const $ = id => document.getElementById(id);

/** The place and the text of a fault, as the server says it. */
const FAULT = /^program\.(?:py|gt):(\d+):(\d+): (.*)$/s;

export class ProgramText {
  /** @param originals {algorithm: text}; @param changed is called when the user has changed it */
  constructor(originals, changed) {
    this.originals = originals;
    this.texts = {};            // what the user has made of them
    this.algorithm = null;
    this.changed = changed;
    this.area = $('program');
    this.area.addEventListener('input', () => {
      this.texts[this.algorithm] = this.area.value;
      this.fault(null);
      this.draw();
      changed();
    });
    this.area.addEventListener('scroll', () => { $('lines').scrollTop = this.area.scrollTop; });
    $('original').addEventListener('click', () => {
      this.select(this.algorithm, this.originals[this.algorithm] ?? '');
      changed();
    });
    $('save-program').addEventListener('click', () => this.save());
  }

  /** Show the text of an algorithm, as the user has left it, or another text. */
  select(algorithm, text) {
    this.algorithm = algorithm;
    if (text !== undefined) this.texts[algorithm] = text;
    this.area.value = this.texts[algorithm] ?? this.originals[algorithm] ?? '';
    this.fault(null);
    this.draw();
  }

  /** The text if it is not the algorithm's own, or undefined. */
  get edited() {
    const text = this.area.value;
    return text.trim() && text !== this.originals[this.algorithm] ? text : undefined;
  }

  /** Whether the text has a parameter of that name; null if it is the algorithm's own text. */
  has(parameter) {
    return this.edited === undefined ? null : new RegExp(`\\b${parameter}\\b`).test(this.edited);
  }

  draw(wrong) {
    const count = this.area.value.split('\n').length;
    $('lines').replaceChildren(...[...Array(count).keys()].map(i => Object.assign(
      document.createElement('span'), { textContent: `${i + 1}\n`,
                                        className: i + 1 === wrong ? 'wrong' : '' })));
    $('lines').scrollTop = this.area.scrollTop;
    $('edited').textContent = this.edited === undefined ? '' : 'changed: this text is run';
    $('original').disabled = this.edited === undefined;
  }

  /** Show what the server says of the text; other messages and null show nothing. */
  fault(message) {
    const found = FAULT.exec(message ?? '');
    $('fault').hidden = !found;
    if (!found) return;
    const [, line, column, what] = found;
    $('fault').textContent = `line ${line}, column ${column}: ${what}`;
    $('edit').open = $('choices').open = true;
    this.draw(Number(line));
    const before = this.area.value.split('\n').slice(0, line - 1).join('\n');
    const at = (line > 1 ? before.length + 1 : 0) + Number(column) - 1;
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(at, at);
    const height = parseFloat(getComputedStyle(this.area).lineHeight);
    this.area.scrollTop = Math.max(0, (line - 6) * height);
  }

  save() {
    const text = this.area.value;
    const name = /^\s*func\s+main\b/m.test(text) ? 'program.gt' : 'program.py';
    const link = Object.assign(document.createElement('a'), {
      href: URL.createObjectURL(new Blob([text], { type: 'text/plain' })), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
