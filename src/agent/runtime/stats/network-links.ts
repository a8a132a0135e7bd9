/** Whether the machine's network interfaces have a link, as the kernel says. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworkLink } from '../../../types/eviction-plugin.ts';
import { readSmallFile } from './small-files.ts';

/** A node with many pods has as many virtual interfaces; those of the machine are few. */
const LINKS_MAX = 64;
const IS_UP = 1;

/** Only interfaces of devices, and those that bond them: bridges, tunnels and pods have no link that could be lost. */
export function networkLinks(root: string): readonly NetworkLink[] {
  const folder = join(root, 'sys/class/net');
  const has = (name: string, part: string) => existsSync(join(folder, name, part));
  const names = namesIn(folder).filter((name) => has(name, 'device') || has(name, 'bonding'));
  return names.slice(0, LINKS_MAX).map((name) => {
    const read = (file: string) => readSmallFile(join(folder, name, file))?.trim();
    // The kernel refuses to read it for an interface that is down.
    const carrier = read('carrier');
    return {
      name,
      isUp: (Number(read('flags') ?? IS_UP) & IS_UP) !== 0,
      ...(carrier !== undefined && { carrier: carrier === '1' }),
      operState: read('operstate') ?? 'unknown',
    };
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
