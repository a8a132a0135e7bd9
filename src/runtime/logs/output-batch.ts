/** Collects small pieces of output, so that they are sent together. */
export class OutputBatch {
  #text = '';
  #buffer = Buffer.alloc(0);

  /** One character per byte. */
  add(text: string): void {
    this.#text += text;
  }

  /** Valid until the next call; undefined: there is none. */
  take(): Buffer | undefined {
    const text = this.#text;
    if (text === '') return undefined;
    this.#text = '';
    if (text.length > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(text.length);
    return this.#buffer.subarray(0, this.#buffer.write(text, 'latin1'));
  }
}
