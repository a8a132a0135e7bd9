/** A folder of manifests, and the source that follows it. */
import { afterEach, beforeEach } from '@jest/globals';
import { join } from 'node:path';
import { fileSource } from '../../../src/agent/sources/file-source.ts';
import type { SourceUpdate } from '../../../src/agent/sources/source.ts';
import { Collector, put, temporaryFolder } from './support.ts';

/** Longer than any test: changes are seen only by watching. */
export const NEVER_MS = 600_000;

export class FileSourceBed {
  /** Made anew for each test. */
  folder = '';
  #remove: () => Promise<void> = () => Promise.resolve();
  #source: Collector<SourceUpdate> | undefined;

  constructor() {
    beforeEach(async () => {
      ({ path: this.folder, remove: this.#remove } = await temporaryFolder());
    });
    afterEach(async () => {
      this.#source?.close();
      await this.#remove();
    });
  }

  readonly at = (...names: string[]): string => join(this.folder, ...names);

  readonly write = (name: string, text: string): Promise<void> => put(this.at(name), text);

  /** Until the end of the test. */
  readonly follow = (
    path = this.folder,
    checkFrequencyMs = NEVER_MS,
    quietMs = 30,
  ): Collector<SourceUpdate> => {
    this.#source = new Collector(fileSource({ path, nodeName: 'node', checkFrequencyMs, quietMs }));
    return this.#source;
  };
}

export const names = ({ pods }: SourceUpdate) =>
  pods?.map(({ metadata }) => metadata.name.replace(/-node$/, ''));

export const holds =
  (...wanted: string[]) =>
  (update: SourceUpdate) =>
    String(names(update)) === String(wanted);
