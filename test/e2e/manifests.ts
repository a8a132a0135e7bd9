import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Container, ObjectMeta, PodSpec } from '../../src/types/kubernetes.ts';
import { waitFor } from '../support/wait-for.ts';

/** A container of a shell script. */
export function shell(script: string, fields: Partial<Container> = {}): Container {
  return { name: 'main', command: ['sh', '-c', script], ...fields };
}

/** Runs until SIGTERM, and then ends at once. */
export const SERVE = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';

export type ManifestFields = Partial<PodSpec> & { readonly metadata?: Partial<ObjectMeta> };

/** A manifest as JSON, which is valid YAML. The grace period is short, as some pods use all of it. */
export function manifest(name: string, { metadata, ...spec }: ManifestFields = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { terminationGracePeriodSeconds: 5, containers: [shell(SERVE)], ...spec },
  });
}

/** Replaces a file in one step, as editors do. */
export function replaceFile(path: string, content: string): void {
  // Dotfiles are no manifests.
  const draft = join(path, '..', '.draft');
  writeFileSync(draft, content);
  renameSync(draft, path);
}

/** A file to which the containers of a test write lines, each with its time in front. */
export class Journal {
  readonly path: string;

  constructor(dir: string) {
    this.path = join(dir, 'journal');
    appendFileSync(this.path, '');
  }

  /** Shell: writes a line. */
  note(line: string): string {
    return `echo "$(date +%s%N) ${line}" >> ${this.path}`;
  }

  /** Shell: writes `NAME starts`, runs until SIGTERM, takes `seconds` to end, and writes `NAME ends`. */
  serve(name: string, seconds = 0): string {
    return this.serveWaiting(name, `sleep ${seconds}`);
  }

  /** As `serve`; `wait`: shell, by which it takes its time to end. */
  serveWaiting(name: string, wait: string): string {
    const ending = `${wait}; ${this.note(`${name} ends`)}; exit 0`;
    // The trap is set before the line is written, so that a signal after the line ends it as wanted.
    return `trap '${ending}' TERM; ${this.note(`${name} starts`)}; while :; do sleep 1000 & wait $!; done`;
  }

  /** The lines in the order of their times. */
  lines(): readonly string[] {
    const lines = readFileSync(this.path, 'utf8').trimEnd().split('\n');
    const byTime = (a: string, b: string) =>
      Number(BigInt(a.split(' ')[0] ?? '') - BigInt(b.split(' ')[0] ?? ''));
    return lines
      .filter((line) => line !== '')
      .toSorted(byTime)
      .map((line) => line.replace(/^\d+ /, ''));
  }

  /** Resolves when each line has been written as often as it is wanted. */
  async until(...wanted: string[]): Promise<void> {
    const count = (line: string, lines: readonly string[]) => lines.filter((other) => other === line).length;
    const isNoted = (line: string) => count(line, this.lines()) >= count(line, wanted);
    await waitFor(() => wanted.every(isNoted), {
      what: `the containers to note ${wanted.join(', ')}`,
    });
  }
}

/** Shell: waits until the file exists. */
export function awaitFile(path: string): string {
  return `while [ ! -e ${path} ]; do sleep 0.05; done`;
}

export function touch(path: string): void {
  if (!existsSync(path)) writeFileSync(path, '');
}
