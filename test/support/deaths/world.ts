/** The present and earlier pods of a folder of manifests, and the records that their containers have written. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../e2e/manifests.ts';
import { type Incarnation, type KindName, LAST_REVISION, manifestOf, type PodSurroundings } from './pods.ts';

export interface Note {
  readonly uid: string;
  readonly container: string;
  readonly revision: number;
  readonly what: 'starts' | 'ends';
}

export class World {
  readonly #manifestDir: string;
  readonly #surroundings: PodSurroundings;
  readonly #wanted = new Map<string, Incarnation>();
  /** The last removed pod of each name. */
  readonly #withdrawn = new Map<string, Incarnation>();
  readonly #lives = new Map<string, number>();
  readonly #disturbed = new Set<string>();
  #last = 0;

  constructor(manifestDir: string, surroundings: PodSurroundings) {
    this.#manifestDir = manifestDir;
    this.#surroundings = surroundings;
  }

  get wanted(): readonly Incarnation[] {
    return [...this.#wanted.values()];
  }

  get(name: string): Incarnation | undefined {
    return this.#wanted.get(name);
  }

  /** How often the pod of the UID was to start. A change of its containers counts as another start. */
  lives(uid: string): number {
    return this.#lives.get(uid) ?? 0;
  }

  /** Whether its manifest is unchanged since all pods last matched their manifests. */
  isUndisturbed(uid: string): boolean {
    return !this.#disturbed.has(uid);
  }

  /** All pods match their manifests. */
  settled(): void {
    this.#disturbed.clear();
  }

  /** Adds a pod with a new UID under that name; it replaces the old one, if any. */
  add(name: string, kind: KindName): void {
    this.#last += 1;
    this.#write({ name, kind, uid: `${name}-uid-${String(this.#last)}`, revision: 0 });
  }

  /** The last UID of the name. */
  addAgain(name: string): void {
    const before = this.#withdrawn.get(name);
    if (before !== undefined) this.#write(before);
  }

  remove(name: string): void {
    const pod = this.#wanted.get(name);
    if (pod === undefined) return;
    rmSync(this.#file(name));
    this.#wanted.delete(name);
    this.#withdrawn.set(name, pod);
    this.#disturbed.add(pod.uid);
  }

  removeAll(): void {
    for (const { name } of this.wanted) this.remove(name);
  }

  /** Changes the containers under the same UID. */
  edit(name: string): void {
    const pod = this.#wanted.get(name);
    if (pod === undefined || pod.revision === LAST_REVISION) return;
    this.#write({ ...pod, revision: pod.revision + 1 });
  }

  /** The records in their order. */
  notes(): readonly Note[] {
    const lines = readFileSync(this.#surroundings.journal, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => {
      const [uid = '', container = '', revision, what] = line.split(' ');
      return { uid, container, revision: Number(revision), what: what as Note['what'] };
    });
  }

  #write(pod: Incarnation): void {
    this.#wanted.set(pod.name, pod);
    this.#lives.set(pod.uid, this.lives(pod.uid) + 1);
    this.#disturbed.add(pod.uid);
    const manifest = { apiVersion: 'v1', kind: 'Pod', ...manifestOf(pod, this.#surroundings) };
    replaceFile(this.#file(pod.name), JSON.stringify(manifest));
  }

  #file(name: string): string {
    return join(this.#manifestDir, `${name}.json`);
  }
}
