import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Watches how many processes the kernel has killed because memory ran out (OOM kills), in the cgroup that the monitor
 * shares with its containers. This is a hint only: it does not say which container was hit. Cgroup v2 counts in
 * memory.events, v1 in memory.oom_control; without either, the count of the whole machine is used.
 */
export class OomKills {
  readonly #files: readonly string[];
  #seen: number;

  /** `root` stands for `/`. */
  constructor(root = '/') {
    this.#files = countingFiles(root);
    this.#seen = this.#count();
  }

  /** Whether the count has grown since the last call. */
  grew(): boolean {
    const before = this.#seen;
    this.#seen = this.#count();
    return this.#seen > before;
  }

  #count(): number {
    for (const file of this.#files) {
      const count = /^oom_kill (\d+)$/m.exec(readOrEmpty(file))?.[1];
      if (count !== undefined) return Number(count);
    }
    return 0;
  }
}

function countingFiles(root: string): string[] {
  const cgroups = readOrEmpty(join(root, 'proc/self/cgroup')).split('\n');
  const files = cgroups.flatMap((line) => {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === '' && path !== '') return [join(root, 'sys/fs/cgroup', path, 'memory.events')];
    const memory = controllers.split(',').includes('memory');
    return memory ? [join(root, 'sys/fs/cgroup/memory', path, 'memory.oom_control')] : [];
  });
  return [...files, join(root, 'proc/vmstat')];
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
