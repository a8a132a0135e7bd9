import { createHash } from 'node:crypto';

/** Whom a line is about: the whole node where it names no pod. */
export interface Subject {
  readonly node: number;
  /** The pod's name. */
  readonly name?: string;
  readonly uid?: string;
}

interface Line {
  readonly number: number;
  readonly uid: string | undefined;
  readonly text: string;
}

/** Of each pod's name, and of each node, so many of its latest lines are kept. */
const KEPT_LINES = 300;

/** Everything that happens in a simulation, line by line. The same seed gives the same lines to the byte. */
export class History {
  readonly #hash = createHash('sha256');
  readonly #kept = new Map<string, Line[]>();
  readonly #elapsedMs: () => number;
  readonly #write: ((line: string) => void) | undefined;
  #lines = 0;

  /** `write` gets every line as it comes. */
  constructor(elapsedMs: () => number, write?: (line: string) => void) {
    this.#elapsedMs = elapsedMs;
    this.#write = write;
  }

  get length(): number {
    return this.#lines;
  }

  /** `isMinor`: not worth a person's time. */
  add({ node, name, uid }: Subject, what: string, isMinor = false): void {
    const who = [`node-${String(node)}`, name, uid].filter((part) => part !== undefined && part !== '');
    const text = `${elapsed(this.#elapsedMs())} ${who.join(' ')}: ${what}`;
    const line = { number: this.#lines++, uid, text };
    this.#hash.update(`${text}\n`);
    this.#write?.(text);
    if (isMinor) return;
    const key = keyOf(node, name);
    const kept = this.#kept.get(key);
    if (kept === undefined) this.#kept.set(key, [line]);
    else if (kept.push(line) > 2 * KEPT_LINES) kept.splice(0, KEPT_LINES);
  }

  /** What is kept of a pod, and of what befell its node meanwhile, in order: from what came just before it on. */
  of({ node, name, uid }: Subject): readonly string[] {
    const ofNode = this.#kept.get(keyOf(node, undefined)) ?? [];
    const ofName = name === undefined ? [] : (this.#kept.get(keyOf(node, name)) ?? []);
    const first = Math.max(0, ofName.findIndex((line) => line.uid === uid) - 1);
    const from = ofName[first]?.number ?? 0;
    const lines = [...ofNode.filter(({ number }) => number >= from), ...ofName.slice(first)];
    return lines.sort((a, b) => a.number - b.number).map(({ text }) => text);
  }

  /** SHA-256 of all lines so far. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }
}

const keyOf = (node: number, name: string | undefined): string => `${String(node)}/${name ?? ''}`;

/** `1:02:03.456`, hours first. */
function elapsed(ms: number): string {
  const pad = (value: number, width: number) => String(value).padStart(width, '0');
  const [seconds, minutes] = [Math.floor(ms / 1000), Math.floor(ms / 60_000)];
  const time = `${pad(minutes % 60, 2)}:${pad(seconds % 60, 2)}.${pad(ms % 1000, 3)}`;
  return `${String(Math.floor(minutes / 60))}:${time}`;
}
