import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Observable } from 'rxjs';

/** Holds what an observable emits until it is asked for. */
export class Collector<T> {
  readonly #items: T[] = [];
  #waiting: (() => void) | undefined;
  readonly #subscription;

  constructor(source: Observable<T>) {
    this.#subscription = source.subscribe((item) => {
      this.#items.push(item);
      this.#waiting?.();
    });
  }

  async next(): Promise<T> {
    while (this.#items.length === 0) await new Promise<void>((resolve) => (this.#waiting = resolve));
    return this.#items.shift() as T;
  }

  /** Drops what comes before the first item of which `holds` is true. */
  async until(holds: (item: T) => boolean): Promise<T> {
    for (;;) {
      const item = await this.next();
      if (holds(item)) return item;
    }
  }

  close(): void {
    this.#subscription.unsubscribe();
  }
}

export async function temporaryFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'statelet-sources-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A small manifest; `command` makes it another pod. */
export function manifest(name: string, command = 'sleep 1', more = ''): string {
  return `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
${more}
spec:
  containers:
    - name: main
      command: [sh, -c, ${JSON.stringify(command)}]
`;
}

/** Puts a file in place at once, so that nobody reads half of it. */
export async function put(path: string, text: string): Promise<void> {
  const half = join(dirname(path), '.half');
  await writeFile(half, text);
  await rename(half, path);
}
