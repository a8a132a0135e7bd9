/** `statelet events`: the newest events of the node and its pods, as `kubectl events` shows them. */
import { createInterface } from 'node:readline';
import { humanDuration } from '../../agent/policies/formats/duration.ts';
import { StateletError } from '../../types/errors.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import { columnWidths, tableLines } from '../table.ts';
import type { NamespaceFlags } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';

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
    const table = new EventTable(flags, now);
    if (flags.output !== undefined) for (const item of items) write(await written(item, flags.output));
    else if (items.length > 0) write(table.rows(items));
    else if (flags.watch !== true) write('No events.\n');
    if (flags.watch !== true) return;
    const since = list.metadata.resourceVersion;
    for await (const event of watched(daemon, since, signal)) {
      if (!isWanted(event)) continue;
      write(flags.output === undefined ? table.rows([event]) : await written(event, flags.output));
    }
  });
}

async function* watched(
  daemon: DaemonConnection,
  since: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<CoreEvent, undefined> {
  const path = `/events?watch=true&resourceVersion=${encodeURIComponent(since)}`;
  const response = await daemon.request(path, signal && { signal });
  try {
    for await (const line of createInterface({ input: response }))
      yield (JSON.parse(line) as EventChange).object;
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
  if (signal?.aborted !== true)
    throw new StateletError('Unavailable', `the daemon at ${daemon.origin} has ended`);
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

/** The first rows decide how wide the columns are; rows that come later keep to that where they can. */
class EventTable {
  readonly #flags: EventsFlags;
  readonly #now: () => number;
  #widths: readonly number[] | undefined;

  constructor(flags: EventsFlags, now: () => number) {
    this.#flags = flags;
    this.#now = now;
  }

  rows(events: readonly CoreEvent[]): string {
    const rows = events.map((event) => this.#row(event));
    if (this.#widths !== undefined) return tableLines(rows, this.#widths);
    const withNamespace = this.#flags.namespace === undefined;
    const header = withNamespace ? ['NAMESPACE', ...COLUMNS] : COLUMNS;
    const all = this.#flags.headers === false ? rows : [header, ...rows];
    this.#widths = columnWidths(all);
    return tableLines(all, this.#widths);
  }

  #row({ metadata, involvedObject, type, reason, message, ...times }: CoreEvent): readonly string[] {
    const row = [
      this.#lastSeen(times),
      type ?? '',
      reason ?? '',
      `${involvedObject.kind ?? ''}/${involvedObject.name ?? ''}`,
      withContainer(oneLine(message ?? ''), involvedObject),
    ];
    return this.#flags.namespace === undefined ? [metadata.namespace ?? '', ...row] : row;
  }

  /** `5s (x3 over 2m)`. */
  #lastSeen({
    firstTimestamp,
    lastTimestamp,
    count = 1,
  }: Pick<CoreEvent, 'firstTimestamp' | 'lastTimestamp' | 'count'>): string {
    const ago = (time: string | undefined) =>
      time === undefined ? '<unknown>' : humanDuration(this.#now() - Date.parse(time));
    return count > 1
      ? `${ago(lastTimestamp)} (x${String(count)} over ${ago(firstTimestamp)})`
      : ago(lastTimestamp);
  }
}

/** Most of the kubelet's messages do not name the container: it stands in `spec.containers{NAME}`. */
function withContainer(message: string, { fieldPath = '' }: Involved): string {
  const container = /^spec\.\w+\{(.+)\}$/u.exec(fieldPath)?.[1];
  const isNamed = container === undefined || message.split(/[\s"',:]+/u).includes(container);
  return isNamed ? message : `${container}: ${message}`;
}
