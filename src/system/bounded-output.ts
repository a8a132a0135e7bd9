/** As the kubelet limits the output of probes and hooks. */
export const OUTPUT_BYTES_MAX = 10 * 1024;

/**
 * Keeps the beginning of a stream of bytes; bytes beyond the limit are dropped. The bytes are copied: a view would keep the
 * whole chunk in memory.
 */
export class BoundedOutput {
  readonly #limit: number;
  #kept = Buffer.alloc(0);
  #length = 0;

  constructor(limit = OUTPUT_BYTES_MAX) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#length === this.#limit;
  }

  add(chunk: Uint8Array): void {
    const part = chunk.subarray(0, this.#limit - this.#length);
    if (part.length === 0) return;
    this.#growTo(this.#length + part.length);
    this.#kept.set(part, this.#length);
    this.#length += part.length;
  }

  /** The bytes that have been kept so far. */
  bytes(): Buffer {
    return this.#kept.subarray(0, this.#length);
  }

  toString(): string {
    return this.bytes().toString('utf8');
  }

  #growTo(bytes: number): void {
    if (bytes <= this.#kept.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(bytes, 2 * this.#kept.length)));
    this.#kept.copy(grown);
    this.#kept = grown;
  }
}
