import { join } from 'node:path';
import { isLeftOut } from '../network-figures.ts';
import { readLongFile } from '../small-files.ts';
import type { GroupInterface, InterfaceCounts } from './group-figures.ts';

/** `eth0: 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0`: bytes, packets, errors, drops and four more; first received, then sent. */
const LINE = /^ *([^\s:]+): *(\d+) +(\d+) +(\d+) +(\d+)(?: +\d+){4} +(\d+) +(\d+) +(\d+) +(\d+)/gm;

/** The counts of a network's interfaces, from the folder `net` of a process in it. None if the process is gone. */
export function interfaceCounts(netFolder: string): readonly GroupInterface[] {
  const found: GroupInterface[] = [];
  for (const [, name = '', ...counts] of (readLongFile(join(netFolder, 'dev')) ?? '').matchAll(LINE)) {
    if (isLeftOut(name)) continue;
    found.push({ name, received: countsOf(counts.slice(0, 4)), sent: countsOf(counts.slice(4)) });
  }
  return found;
}

function countsOf(texts: readonly string[]): InterfaceCounts {
  const [bytes = 0, packets = 0, errors = 0, dropped = 0] = texts.map(Number);
  return { bytes, packets, errors, dropped };
}
