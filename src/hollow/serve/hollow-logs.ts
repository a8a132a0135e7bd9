/**
 * The logs of hollow containers. Hollow containers write nothing: a log is made at the request, and says what the container is
 * and what happened to it.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { makeFolder } from '../../system/make-folder.ts';
import { replaceFile } from '../../system/replace-file.ts';
import type { ContainerStatus } from '../../types/cri.ts';

const NS_PER_MS = 1e6;
const MINUTE_MS = 60_000;
/** Older minutes are left out. */
const MINUTES_MAX = 1_000;

/** Writes the log as the runtime would have, and resolves with its path. */
export async function writeHollowLog(
  folder: string,
  status: ContainerStatus,
  node: string,
  nowMs: number,
): Promise<string> {
  await makeFolder(folder, 0o700);
  // An id has the UID of its pod, which the API server may have from anybody.
  const path = join(folder, `${createHash('sha256').update(status.id).digest('hex')}.log`);
  await replaceFile(path, hollowLog(status, node, nowMs), { mode: 0o600 });
  return path;
}

export function hollowLog(status: ContainerStatus, node: string, nowMs: number): string {
  const { metadata, image, startedAt, finishedAt, exitCode, reason } = status;
  const startMs = startedAt / NS_PER_MS;
  const endMs = finishedAt === 0 ? nowMs : finishedAt / NS_PER_MS;
  if (startMs === 0) return '';
  const minutes = Math.floor((endMs - startMs) / MINUTE_MS);
  const first = Math.max(1, minutes - MINUTES_MAX + 1);
  const lines = [
    line(startMs, `hollow container "${metadata.name}" of ${image} on ${node}: nothing runs here`),
  ];
  for (let minute = first; minute <= minutes; minute += 1)
    lines.push(line(startMs + minute * MINUTE_MS, `runs for ${String(minute)} min`));
  if (finishedAt !== 0) lines.push(line(endMs, `ended with ${String(exitCode)}: ${reason}`));
  return lines.join('');
}

/** A line of CRI's logs. */
function line(atMs: number, text: string): string {
  const clean = text.replaceAll(/[\r\n]/gu, ' ');
  return `${new Date(atMs).toISOString()} stdout F ${clean}\n`;
}
