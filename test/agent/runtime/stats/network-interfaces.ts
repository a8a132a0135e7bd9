/** Writes the counts of network interfaces for a test, in the form of the kernel. */
import type { StatsBed } from './stats-bed.ts';

export const HEAD = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
`;

/** Received, received in error, sent, sent in error. */
export type Counts = readonly [rx: number, rxErrors: number, tx: number, txErrors: number];

const line = (name: string, [rx, rxErrors, tx, txErrors]: Counts) =>
  `${name.padStart(6)}: ${rx}  17 ${rxErrors} 18 19 20 21 22 ${tx} 23 ${txErrors} 24 25 26 27 28\n`;

export function writeInterfaces(
  bed: StatsBed,
  folder: string,
  interfaces: Readonly<Record<string, Counts>>,
): void {
  const lines = Object.entries({ lo: [9, 9, 9, 9] as const, ...interfaces }).map(([name, counts]) =>
    line(name, counts),
  );
  bed.write(`${folder}/net/dev`, HEAD + lines.join(''));
}

/** The figures that are expected for these counts. */
export const figures = (name: string, [rxBytes, rxErrors, txBytes, txErrors]: Counts) => ({
  name,
  rxBytes,
  rxErrors,
  txBytes,
  txErrors,
});
