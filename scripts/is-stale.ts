import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Whether `target` is missing or older than one of `sources`: files, and folders with all that is in them. A folder's own time
 * counts too, since it changes when a file in it is removed.
 */
export function isStale(target: string, sources: readonly string[]): boolean {
  const built = statSync(target, { throwIfNoEntry: false });
  return built === undefined || sources.some((source) => newestMs(source) > built.mtimeMs);
}

function newestMs(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  const inside = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return Math.max(stats.mtimeMs, ...inside.map((name) => statSync(join(path, name)).mtimeMs));
}
