/** `statelet events`: the newest events of the node and its pods, as `kubectl events` shows them. */
import { humanDuration } from '../../agent/policies/formats/duration.ts';
import { StateletError } from '../../types/errors.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import { SteadyTable } from '../table.ts';
import type { NamespaceFlags } from './chosen-pod.ts';
import { type FolderFlags, withDaemon } from './daemon-connection.ts';

export interface EventsFlags extends FolderFlags, NamespaceFlags {
  readonly watch?: boolean;
  /** `pod/web`, `node/NAME`. */
  readonly for?: string;
  readonly types?: string;
  readonly headers?: boolean;
  readonly output?: 'json' | 'yaml';
}

interface EventList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly CoreEvent[];
}

interface EventChange {
  readonly object: CoreEvent;
}

/** `signal` ends a watch. */
export async function events(
  flags: EventsFlags,
  write: (text: string) => void,
  { signal, now = Date.now }: { readonly signal?: AbortSignal; readonly now?: () => number } = {},
): Promise<void> {
  const isWanted = filterOf(flags);
  await withDaemon(flags, async (daemon) => {
    const list = await daemon.json<EventList>('/events');
    const items = list.items.filter(isWanted);
    if (flags.output !== undefined && flags.watch !== true) {
      write(await written({ ...list, items }, flags.output));
      return;
    }
    const table = new SteadyTable(headerOf(flags));
    const rows = (events: readonly CoreEvent[]) =>
      table.add(events.map((event) => rowOf(event, flags, now())));
    if (flags.output !== undefined) for (const item of items) write(await written(item, flags.output));
    else if (items.length > 0) write(rows(items));
    else if (flags.watch !== true) write('No events.\n');
    if (flags.watch !== true) return;
    const since = list.metadata.resourceVersion;
    const path = `/events?watch=true&resourceVersion=${encodeURIComponent(since)}`;
    for await (const { object } of daemon.watch<EventChange>(path, signal)) {
      if (!isWanted(object)) continue;
      write(flags.output === undefined ? rows([object]) : await written(object, flags.output));
    }
  });
}

async function written(value: object, output: 'json' | 'yaml'): Promise<string> {
  if (output === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  return (await import('../to-yaml.ts')).toYAML(value);
}

const TYPES = ['Normal', 'Warning'];

/** The namespace may be given with the pod, too: `--for kube-system/web`. */
function filterOf({ namespace, for: object, types }: EventsFlags): (event: CoreEvent) => boolean {
  const wantedTypes = types?.split(',');
  const wrong = wantedTypes?.find((type) => !TYPES.includes(type));
  if (wrong !== undefined)
    throw new StateletError('InvalidArgument', `--types: "${wrong}" is none of ${TYPES.join(', ')}`);
  const wanted = object === undefined ? undefined : objectOf(object);
  return (event) =>
    (namespace === undefined || event.metadata.namespace === namespace) &&
    (wantedTypes === undefined || wantedTypes.includes(event.type ?? '')) &&
    (wanted === undefined || wanted(event.involvedObject));
}

type Involved = CoreEvent['involvedObject'];

/** A static pod is also found without the name of its node. */
function objectOf(text: string): (involved: Involved) => boolean {
  const [, type = '', name = ''] = /^([^/]+)\/(.+)$/u.exec(text) ?? [];
  if (name === '')
    throw new StateletError('InvalidArgument', `--for: "${text}" is not of the form pod/NAME or node/NAME`);
  if (/^(?:nodes?|no)$/u.test(type)) return ({ kind, name: own }) => kind === 'Node' && own === name;
  const isPodType = /^(?:pods?|po)$/u.test(type);
  return ({ kind, name: own = '', namespace }) =>
    kind === 'Pod' && (own === name || own.startsWith(`${name}-`)) && (isPodType || namespace === type);
}

function oneLine(message: string): string {
  const lines = message.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

const COLUMNS = ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'];

function headerOf({ namespace, headers }: EventsFlags): readonly string[] | undefined {
  if (headers === false) return undefined;
  return namespace === undefined ? ['NAMESPACE', ...COLUMNS] : COLUMNS;
}

function rowOf(event: CoreEvent, { namespace }: EventsFlags, nowMs: number): readonly string[] {
  const { metadata, involvedObject, type, reason, message } = event;
  const row = [
    lastSeen(event, nowMs),
    type ?? '',
    reason ?? '',
    `${involvedObject.kind ?? ''}/${involvedObject.name ?? ''}`,
    withContainer(oneLine(message ?? ''), involvedObject),
  ];
  return namespace === undefined ? [metadata.namespace ?? '', ...row] : row;
}

/** `5s (x3 over 2m)`. */
export function lastSeen({ firstTimestamp, lastTimestamp, count = 1 }: CoreEvent, nowMs: number): string {
  const ago = (time: string | undefined) =>
    time === undefined ? '<unknown>' : humanDuration(nowMs - Date.parse(time));
  return count > 1
    ? `${ago(lastTimestamp)} (x${String(count)} over ${ago(firstTimestamp)})`
    : ago(lastTimestamp);
}

/** Most of the kubelet's messages do not name the container: it stands in `spec.containers{NAME}`. */
export function withContainer(message: string, { fieldPath = '' }: Involved): string {
  const container = /^spec\.\w+\{(.+)\}$/u.exec(fieldPath)?.[1];
  const isNamed = container === undefined || message.split(/[\s"',:]+/u).includes(container);
  return isNamed ? message : `${container}: ${message}`;
}
