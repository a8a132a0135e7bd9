import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { StateletError } from '../types/errors.ts';

/** As many as the kernel follows, generously. */
const LINKS_MAX = 255;

/**
 * The path below `root`, with symbolic links and `..` followed as if `root` were the root of the file system. Parts that do not exist stay
 * as they are. For a folder in which nobody renames anything meanwhile to deceive the agent.
 */
export async function scopedPath(root: string, path: string): Promise<string> {
  const found: string[] = [];
  let left = path.split('/');
  let links = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      found.pop();
      continue;
    }
    const target = await linkTarget(join(root, ...found, name));
    if (target === undefined) {
      found.push(name);
      continue;
    }
    links += 1;
    if (links > LINKS_MAX) throw new StateletError('InvalidArgument', 'too many levels of symbolic links');
    if (target.startsWith('/')) found.length = 0;
    left = [...target.split('/'), ...left];
  }
  return join(root, ...found);
}

/** Undefined: it is no link. Why it cannot be read is told to whoever opens the path. */
async function linkTarget(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined);
}
