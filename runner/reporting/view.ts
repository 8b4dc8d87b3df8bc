/** A reading of a text. Each UTF-16 unit of it knows from where to where of the source it was read. */
export interface TextView {
  readonly text: string;
  readonly from: Int32Array;
  readonly to: Int32Array;
}

/** Stands for what is no part of any value; neither folded away nor found. */
export const BARRIER = '\uffff';

/** Writes a view from its start to its end. */
export class ViewWriter {
  #units: Uint16Array;
  #from: Int32Array;
  #to: Int32Array;
  #length = 0;

  constructor(capacity: number) {
    this.#units = new Uint16Array(capacity);
    this.#from = new Int32Array(capacity);
    this.#to = new Int32Array(capacity);
  }

  addUnit(unit: number, from: number, to: number): void {
    if (this.#length === this.#units.length) this.#grow(this.#length * 2 + 16);
    this.#units[this.#length] = unit;
    this.#from[this.#length] = from;
    this.#to[this.#length] = to;
    this.#length += 1;
  }

  add(text: string, from: number, to: number): void {
    for (let i = 0; i < text.length; i += 1) this.addUnit(text.charCodeAt(i), from, to);
  }

  /** The part that was added last was read from here too. */
  extend(to: number): void {
    this.#to[this.#length - 1] = to;
  }

  /** A part of another view, as it is there. */
  copy({ text, from, to }: TextView, start: number, end: number): void {
    for (let at = start; at < end; at += 1) this.addUnit(text.charCodeAt(at), from[at] ?? 0, to[at] ?? 0);
  }

  view(): TextView {
    return {
      text: Buffer.from(this.#units.buffer, 0, this.#length * 2).toString('utf16le'),
      from: this.#from.subarray(0, this.#length),
      to: this.#to.subarray(0, this.#length),
    };
  }

  #grow(capacity: number): void {
    const wider = <T extends Uint16Array | Int32Array>(old: T, grown: T): T => {
      grown.set(old);
      return grown;
    };
    this.#units = wider(this.#units, new Uint16Array(capacity));
    this.#from = wider(this.#from, new Int32Array(capacity));
    this.#to = wider(this.#to, new Int32Array(capacity));
  }
}
