/** As much as the kubelet keeps of what a probe, or a hook, has to say. */
export const OUTPUT_BYTES_MAX = 10 * 1024;

/**
 * The beginning of a stream of bytes, copied into memory of its own: a view of a chunk would keep the whole chunk alive.
 * What is added beyond the limit is dropped.
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
    this.#makeRoom(this.#length + part.length);
    this.#kept.set(part, this.#length);
    this.#length += part.length;
  }

  /** What has been kept so far. */
  bytes(): Buffer {
    return this.#kept.subarray(0, this.#length);
  }

  toString(): string {
    return this.bytes().toString('utf8');
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#kept.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(bytes, 2 * this.#kept.length)));
    this.#kept.copy(grown);
    this.#kept = grown;
  }
}
