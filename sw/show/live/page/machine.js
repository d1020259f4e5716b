// The simulator in WebAssembly, and the playing of a recording on it (sw/show/live/recording.py). Runs in
// a worker, and under node for tests.

const STATUS = { running: 0, idle: 1, memory: 2, broken: 3 };

/** Words of the view (sim/harness/page.h). */
const VIEW_WORDS = 10;

/** Bytes of base 64. */
export function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Compile a module that gzip has compressed. */
export async function compile(compressed) {
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** What differs between the recording and this simulation, or went wrong in it. */
export class Difference extends Error {}

/** One GPU with its memory. */
export class Machine {
  /** @param module a compiled simulator; @param recording whose hardware the module simulates */
  constructor(module, recording) {
    this.wasm = new WebAssembly.Instance(module).exports;
    this.wasm._initialize();
    const { base, bytes } = recording.memory;
    this.base = base;
    this.bytes = bytes;
    this.place = this.allocate(bytes);
    this.scratch = this.allocate(4 * Math.max(64, ...recording.steps.map(
      ([kind, , words]) => kind === 'write' || kind === 'read' ? words.length : 0)));
    this.words(this.scratch, 4).set(recording.memory.timing);
    this.handle = this.wasm.gl_create(
      this.place, BigInt(bytes), BigInt(base), this.scratch, 0, 0, 1);
    this.inside = recording.inside ?? [];
  }

  allocate(bytes) {
    return (this.wasm.malloc(bytes + 64) + 63) & ~63;
  }

  words(place, count) {
    return new Uint32Array(this.wasm.memory.buffer, place, count);
  }

  /** Global memory of the device, as words. */
  memory(address, count) {
    const offset = address - this.base;
    if (offset < 0 || offset + 4 * count > this.bytes) {
      throw new Difference('the host reaches outside the memory');
    }
    return this.words(this.place + offset, count);
  }

  /** Call a function of the machine. */
  call(name, ...args) {
    return this.wasm[name](this.handle, ...args);
  }

  /** Call a function that evaluates cycles, and return its status unless the simulation stopped. */
  evaluate(name, ...args) {
    const status = this.call(name, ...args);
    if (status === STATUS.memory || status === STATUS.broken) {
      const why = status === STATUS.memory ? 'a request outside the memory'
                                           : this.text(this.call('gl_message'));
      throw new Difference(`the simulation stopped: ${why}`);
    }
    return status;
  }

  text(place) {
    const bytes = new Uint8Array(this.wasm.memory.buffer, place);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  powerOn() {
    this.evaluate('gl_power_on');
    let place = 0;
    this.inside.forEach((signal, number) => {
      if (signal.kind !== 'state' || place === 4) return;
      if (signal.counts) this.call('pg_count', place);
      this.call('pg_watch', place++, number);
    });
    this.places = this.inside.map((_, number) => this.call('pg_inside', number));
  }

  write(address, words) {
    this.words(this.scratch, words.length).set(words);
    this.evaluate('gl_write', address, this.scratch, words.length);
  }

  read(address, count) {
    this.evaluate('gl_read', address, this.scratch, count);
    return Array.from(this.words(this.scratch, count));
  }

  /** Run at most so many cycles. Returns whether the GPU is idle. */
  run(cycles) {
    return this.evaluate('gl_run', BigInt(cycles)) === STATUS.idle;
  }

  /** Cycles since power on, and bytes read and written at the memory. */
  report() {
    this.call('gl_report', this.scratch);
    const numbers = new BigUint64Array(this.wasm.memory.buffer, this.scratch, 7);
    return { cycles: Number(numbers[0]), read: Number(numbers[1]), written: Number(numbers[2]) };
  }

  /** The places of the ring and of the overview (sim/harness/page.h). */
  view() {
    this.call('pg_view', this.scratch);
    const [ring, rows, row, buckets, bucketCount, bucketWords, shift, launches, low, high] =
      this.words(this.scratch, VIEW_WORDS);
    return { ring, rows, row, buckets, bucketCount, bucketWords, shift, launches,
             cycles: low + high * 2 ** 32 };
  }

  /** The values of the signals inside: an array of rows, each an array of words. */
  signals() {
    const buffer = this.wasm.memory.buffer;
    return this.inside.map((signal, number) => {
      const rows = [];
      for (let row = 0; row < Math.max(1, signal.depth); row++) {
        const place = this.places[number] + row * signal.row_bytes;
        const view = new DataView(buffer, place, signal.row_bytes);
        if (signal.row_bytes < 4) {
          rows.push([signal.row_bytes === 1 ? view.getUint8(0) : view.getUint16(0, true)]);
        } else {
          const words = [];
          for (let at = 0; at < signal.row_bytes; at += 4) words.push(view.getUint32(at, true));
          rows.push(words);
        }
      }
      return rows;
    });
  }

  /** The counters, added up as sim/machine.py and sim/native.py do. */
  counters(registers) {
    const block = (address, names) => {
      const words = this.read(address, 2 * names.length);
      return Object.fromEntries(names.map(
        (name, i) => [name, words[2 * i] + words[2 * i + 1] * 2 ** 32]));
    };
    const { read, written } = this.report();
    return {
      ...block(registers.core_base, registers.core),
      ...block(registers.gpu_base, registers.gpu),
      dram_bytes_read: read, dram_bytes_written: written,
    };
  }
}

/** The playing of a recording, in parts of any number of cycles. */
export class Player {
  constructor(module, recording) {
    this.recording = recording;
    this.machine = new Machine(module, recording);
    this.next = 0;              // the step that comes next
    this.inStep = 0;            // cycles of a `run` that are done
    this.launch = '';           // the kernel of the last launch
    this.launches = [];         // {name, cycle} of each launch
    this.compared = 0;          // words that were compared
    this.looks = new Map();     // {number of a step: bytes that were read}
    this.counters = {};
    this.host();
  }

  get done() {
    return this.next === this.recording.steps.length;
  }

  /** Counted cycles so far. */
  get cycles() {
    return this.machine.view().cycles;
  }

  /** Run at most so many cycles of the GPU, and all that the host does between them. */
  advance(cycles) {
    this.host();
    while (cycles > 0 && !this.done) {
      const [, all] = this.recording.steps[this.next];
      const before = this.machine.report().cycles;
      const idle = this.machine.run(Math.min(cycles, all - this.inStep));
      const part = this.machine.report().cycles - before;
      this.inStep += part;
      cycles -= part;
      if (idle && this.inStep < all) {
        this.differ(`the GPU is idle after ${this.inStep} cycles, in the recording after ${all}`);
      }
      if (this.inStep === all) {
        if (!idle) this.differ(`the GPU is busy after ${all} cycles, in the recording it was idle`);
        this.next++;
        this.inStep = 0;
        this.host();
      }
    }
  }

  /** All steps up to the next `run`. */
  host() {
    const { steps } = this.recording;
    while (!this.done && steps[this.next][0] !== 'run') {
      this.step(...steps[this.next]);
      this.next++;
    }
    if (this.done) this.finish();
  }

  step(kind, first, second, third) {
    const machine = this.machine;
    switch (kind) {
      case 'power': machine.powerOn(); break;
      case 'write': machine.write(first, second); break;
      case 'read': this.compare(machine.read(first, second.length), second, first); break;
      case 'launch':
        this.launch = first;
        this.launches.push({ name: first, cycle: this.cycles });
        break;
      case 'clear': machine.call('gl_clear_lines'); break;
      case 'memory': {
        const bytes = bytesOf(second);
        machine.memory(first, bytes.length / 4).set(new Uint32Array(bytes.buffer));
        break;
      }
      case 'fill': machine.memory(first, second).fill(third); break;
      case 'look': {
        const expected = new Uint32Array(bytesOf(second).buffer);
        const found = machine.memory(first, expected.length).slice();
        this.looks.set(this.next, found);
        this.compare(found, expected, first);
        break;
      }
      default: this.differ(`there is no step ${kind}`);
    }
  }

  compare(found, expected, address) {
    for (let i = 0; i < expected.length; i++) {
      if (found[i] !== expected[i]) {
        const at = (address + 4 * i).toString(16).padStart(8, '0');
        this.differ(`the word at 0x${at} is ${found[i]}, in the recording it is ${expected[i]}`);
      }
    }
    this.compared += expected.length;
  }

  differ(what) {
    throw new Difference(`step ${this.next} of ${this.recording.steps.length}: ${what}`);
  }

  /** Read the counters as the host does at the end, and compare them with the recording. */
  finish() {
    if (Object.keys(this.counters).length) return;
    this.counters = this.machine.counters(this.recording.registers);
    for (const [name, value] of Object.entries(this.recording.result.counters)) {
      if (this.counters[name] !== value) {
        this.differ(`counter ${name} is ${this.counters[name]}, in the recording it is ${value}`);
      }
    }
  }

  /** SHA-256 of the outputs as sw/device/result.py computes it; null if an output is not plainly
   * what the host read, or if the browser has no SHA-256 here. */
  async checksum() {
    const parts = [];
    for (const { name, dtype, length, step } of this.recording.result.outputs) {
      if (step === null || !globalThis.crypto?.subtle) return null;
      parts.push(new TextEncoder().encode(`${name} ${dtype} ${length}\n`),
                 new Uint8Array(this.looks.get(step).buffer));
    }
    const all = new Uint8Array(await new Blob(parts).arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', all));
    return Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join('');
  }
}
