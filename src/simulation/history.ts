import { createHash } from 'node:crypto';

/** The subject of a line: a pod, or the whole node. */
export interface Subject {
  readonly node: number;
  /** The pod's name. */
  readonly name?: string;
  readonly uid?: string;
}

/** What a judge reports. */
export interface Violation extends Subject {
  /** `I3`, `rule 7`, `admission`. */
  readonly invariant: string;
  readonly what: string;
}

interface Line {
  readonly number: number;
  readonly uid: string | undefined;
  readonly text: string;
}

/** The latest lines of each pod name, and of each node, are kept: at least this many. */
const KEPT_LINES = 300;
const HASHED_AT_ONCE = 65_536;

/** Everything that happens in a simulation, line by line. One seed gives the same bytes in every run. */
export class History {
  readonly #hash = createHash('sha256');
  /** The latest lines, which are not in the hash yet: each call of it takes long. */
  #unhashed = '';
  readonly #kept = new Map<string, Line[]>();
  readonly #elapsedMs: () => number;
  readonly #write: ((line: string) => void) | undefined;
  #lines = 0;

  /** `write` receives each line at once. */
  constructor(elapsedMs: () => number, write?: (line: string) => void) {
    this.#elapsedMs = elapsedMs;
    this.#write = write;
  }

  get length(): number {
    return this.#lines;
  }

  /** `isMinor`: the line is left out of the story that is shown with a violation. */
  add({ node, name, uid }: Subject, what: string, isMinor = false): void {
    const who = [`node-${String(node)}`, name, uid].filter((part) => part !== undefined && part !== '');
    const text = `${elapsed(this.#elapsedMs())} ${who.join(' ')}: ${what}`;
    const line = { number: this.#lines++, uid, text };
    this.#unhashed += `${text}\n`;
    if (this.#unhashed.length > HASHED_AT_ONCE) this.#hashLines();
    this.#write?.(text);
    if (isMinor) return;
    const key = keyOf(node, name);
    const kept = this.#kept.get(key);
    if (kept === undefined) this.#kept.set(key, [line]);
    else if (kept.push(line) > 2 * KEPT_LINES) kept.splice(0, KEPT_LINES);
  }

  /** The kept lines of a pod, and of its node meanwhile, in order. They begin one line before the first line of that UID. */
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
    this.#hashLines();
    return this.#hash.copy().digest('hex');
  }

  #hashLines(): void {
    this.#hash.update(this.#unhashed);
    this.#unhashed = '';
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
