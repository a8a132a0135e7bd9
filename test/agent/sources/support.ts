import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Observable } from 'rxjs';
import {
  parseManifest,
  type Manifest,
  type ManifestKind,
} from '../../../src/agent/sources/manifests/read-manifest.ts';
import { problemText } from '../../../src/agent/sources/source.ts';

/** Buffers the items of an observable. A test takes one item after another. */
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

  /** The first item for which `holds` is true; the items before it are dropped. */
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

/** A small manifest. With another `command` it is another pod. */
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

/** Moves a file into its place as a whole, so that a reader never finds a half-written file. */
export async function put(path: string, text: string): Promise<void> {
  const draft = join(dirname(path), '.draft');
  await writeFile(draft, text);
  await rename(draft, path);
}

/** Reads a manifest: a text, or an object that is written as JSON. */
export function parse(content: string | object, source: ManifestKind['source'] = 'file'): Manifest {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return parseManifest(Buffer.from(text), { source, nodeName: 'node' });
}

/** The problems of a manifest, as they are logged. */
export function problemsOf(content: string | object, source?: ManifestKind['source']): string[] {
  return parse(content, source).problems.map((problem) => problemText(problem));
}

/** A valid pod with these fields of its spec. */
export function podWith(spec: object, metadata: object = { name: 'web' }) {
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'main' }], ...spec } };
}

/** A valid pod with these fields of its only container. */
export function podWithContainer(container: object, spec: object = {}) {
  return podWith({ ...spec, containers: [{ name: 'main', ...container }] });
}
