/** `statelet pods`: what a running daemon says of its pods, as kubectl would show it. */
import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { addressFile, readAddress } from '../api/address-file.ts';
import { STATE_ANNOTATION } from '../api/server.ts';
import { defaultRootDir, thisHost } from '../config/config.ts';
import { CONFIG_SEEN_ANNOTATION } from '../policies/pod-kinds.ts';
import { humanDuration, podSummary } from '../policies/pod-table.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { Pod } from '../types/kubernetes.ts';
import { formatTable } from './table.ts';

export interface PodsFlags {
  readonly rootDir?: string;
  /** `http://HOST:PORT`, or `HOST:PORT`. */
  readonly server?: string;
  readonly output?: 'json' | 'yaml' | 'wide';
}

interface PodList {
  readonly items: readonly Pod[];
}

/** What to print. Rejects with `Unavailable` when no daemon answers. */
export async function pods({ rootDir, server, output }: PodsFlags, nowMs = Date.now()): Promise<string> {
  const list = await fetchPods(server ?? (await addressOf(rootDir)));
  if (output === 'json') return `${JSON.stringify(list, null, 2)}\n`;
  if (output === 'yaml') return (await import('./to-yaml.ts')).toYaml(list);
  return list.items.length === 0 ? 'No pods.\n' : table(list.items, output === 'wide', nowMs);
}

async function addressOf(rootDir: string | undefined): Promise<string> {
  const folder = resolve(rootDir ?? defaultRootDir(thisHost()));
  const address = await readAddress(folder);
  if (address !== undefined) return address;
  throw new StateletError(
    'Unavailable',
    `no statelet serves from ${folder}: there is no ${addressFile(folder)}\n` +
      'give the --root-dir that it was started with, or its --server',
  );
}

async function fetchPods(server: string): Promise<PodList> {
  const base = server.includes('://') ? server : `http://${server}`;
  const url = URL.canParse('/pods', base) ? new URL('/pods', base) : undefined;
  if (url?.protocol !== 'http:') {
    throw new StateletError(
      'InvalidArgument',
      `--server: "${server}" is neither http://HOST:PORT nor HOST:PORT`,
    );
  }
  const { status, body } = await request(url).catch((error: unknown) => {
    const message = `no statelet answers at ${url.origin}; is it running? (${errorMessage(error)})`;
    throw new StateletError('Unavailable', message);
  });
  const list = status === 200 ? parsed(body) : undefined;
  if (list !== undefined) return list;
  const beginning = body.slice(0, MAX_SHOWN).trim();
  throw new StateletError('Unavailable', `${url.href} is not served by a statelet: ${status} ${beginning}`);
}

const ANSWER_TIMEOUT_MS = 10_000;
const MAX_SHOWN = 200;

/** Not fetch(), which refuses a number of ports. */
async function request(url: URL): Promise<{ status: number; body: string }> {
  const sent = get(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

function parsed(body: string): PodList | undefined {
  try {
    const list = JSON.parse(body) as Partial<PodList> | null;
    return Array.isArray(list?.items) ? (list as PodList) : undefined;
  } catch {
    return undefined;
  }
}

function table(items: readonly Pod[], wide: boolean, nowMs: number): string {
  const header = [
    'NAMESPACE',
    'NAME',
    'READY',
    'STATUS',
    'RESTARTS',
    'AGE',
    'STATE',
    ...(wide ? ['IP', 'NODE', 'UID'] : []),
  ];
  const rows = items
    .map((pod) => row(pod, wide, nowMs))
    .sort((a, b) => compare(a.slice(0, 2), b.slice(0, 2)));
  return formatTable([header, ...rows]);
}

function row(pod: Pod, wide: boolean, nowMs: number): string[] {
  const { metadata, spec, status } = pod;
  const { ready, total, status: shown, restarts, lastRestart } = podSummary(pod);
  const ago = lastRestart === undefined ? '' : ` (${age(lastRestart, nowMs)} ago)`;
  return [
    metadata.namespace,
    metadata.name,
    `${ready}/${total}`,
    shown,
    `${restarts}${ago}`,
    age(since(pod), nowMs),
    metadata.annotations?.[STATE_ANNOTATION] ?? '<none>',
    ...(wide ? [status?.podIP ?? '<none>', spec.nodeName ?? '<none>', metadata.uid] : []),
  ];
}

/** A static pod that has not started yet is as old as its source has known it. */
function since({ metadata, status }: Pod): string | undefined {
  return metadata.creationTimestamp ?? status?.startTime ?? metadata.annotations?.[CONFIG_SEEN_ANNOTATION];
}

function age(time: string | undefined, nowMs: number): string {
  return time === undefined ? '<unknown>' : humanDuration(nowMs - Date.parse(time));
}

function compare(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [a.join('\0'), b.join('\0')];
  return left < right ? -1 : Number(left > right);
}
