// The records of cycles at the trace port, as the worker sends them (sim/harness/page.h has the
// words of a row, hw/core/trace.py the fields).

const ISSUED = 2, ACCESSED = 4;

/** Rows of the ring, for hardware of so many warps and lanes. */
export class Records {
  constructor(picture, { warps, lanes }) {
    this.rows = picture.rows;
    this.row = picture.row;
    this.count = picture.count;
    this.first = picture.cycles - picture.count;    // number of the first row's cycle
    this.lanes = lanes;
    this.bytes = new Uint8Array(this.rows.buffer);
    this.issueAt = 1 + Math.ceil(warps / 4);
  }

  /** The state of a warp. */
  state(index, warp) {
    return this.bytes[4 * (index * this.row + 1) + warp];
  }

  /** Why nothing issued, for the whole core. */
  stall(index) {
    return this.rows[index * this.row] >> 8 & 0xff;
  }

  /** The instruction that issued, or null. */
  issue(index) {
    const at = index * this.row;
    if (!(this.rows[at] & ISSUED)) return null;
    const [word, pc, mask] = this.rows.subarray(at + this.issueAt, at + this.issueAt + 3);
    return { warp: word & 0xff, phase: word >> 8 & 0xff, pc, mask };
  }

  /** The addresses of the lanes in the mask of a memory instruction, or null. */
  access(index) {
    const at = index * this.row, issue = this.issue(index);
    if (!issue || !(this.rows[at] & ACCESSED)) return null;
    const from = at + this.issueAt + 3, addresses = [];
    for (let lane = 0; lane < this.lanes; lane++) {
      if (issue.mask >> lane & 1) addresses.push(this.rows[from + lane]);
    }
    return { warp: issue.warp, addresses };
  }

  /** The number of the launch. */
  launch(index) {
    return this.rows[(index + 1) * this.row - 2];
  }

  /** A state machine that is watched: the first byte of its state. */
  watched(index, place) {
    return this.rows[(index + 1) * this.row - 1] >>> 8 * place & 0xff;
  }
}
