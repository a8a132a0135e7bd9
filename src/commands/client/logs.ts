/** `statelet logs`: the logs of a pod's containers, as `kubectl logs` prints them. */
import type { IncomingMessage } from 'node:http';
import { Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseDuration } from '../../agent/policies/formats/duration.ts';
import { parseGoTime } from '../../agent/policies/formats/time.ts';
import { oneLine, printable } from '../../agent/policies/formats/terminal-text.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { bareStreams } from '../../system/terminal.ts';
import { errorMessage, invalid, StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { byNamespaceAndName } from '../pod-row.ts';
import { chosenContainer, chosenPod, type NamespaceFlags, podsOf } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';
import { isWithin, noResources } from './get-output.ts';
import { labelSelector } from './label-selector.ts';

export interface LogsFlags extends FolderFlags, NamespaceFlags {
  /** Of all pods of the namespace with these labels, instead of one that is named. */
  readonly selector?: string;
  readonly container?: string;
  readonly allContainers?: boolean;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  /** Negative: all lines. */
  readonly tail?: number;
  readonly since?: string;
  readonly sinceTime?: string;
  /** 0: no limit. */
  readonly limitBytes?: number;
  readonly prefix?: boolean;
  readonly ignoreErrors?: boolean;
  /** How many logs may be followed at once. */
  readonly maxLogRequests?: number;
}

export interface LogsOutput {
  readonly stdout: Writable;
  readonly stderr: Writable;
}

const MAX_LOG_REQUESTS = 5;
/** Of each log, where pods are chosen by their labels. */
const SELECTED_TAIL = 10;

/** Resolves when all has been written; of followed logs, when the containers have ended. */
export async function logs(
  name: string | undefined,
  flags: LogsFlags,
  { stdout, stderr }: LogsOutput = bareStreams,
): Promise<void> {
  if ((name === undefined) === (flags.selector === undefined))
    throw invalid('name a pod, or choose pods by their labels with --selector');
  const query = queryOf(flags);
  const tell = (line: string): void => void stderr.write(`${printable(line)}\n`);
  await withDaemon(flags, async (daemon) => {
    const pods =
      name === undefined ? await selectedPods(daemon, flags) : [await chosenPod(daemon, name, flags)];
    if (pods.length === 0) tell(noResources(flags));
    const all = pods.flatMap((pod) =>
      containersOf(pod, flags, tell).map((container) => ({ pod, container })),
    );
    refuseTooMany(all.length, flags);
    const print = async ({ pod, container }: ContainerOfPod) => {
      try {
        const lines = flags.prefix === true || all.length > 1 ? linesOf(pod, container, flags) : undefined;
        await printLog({ daemon, pod, container, query, lines, stdout });
      } catch (error) {
        if (flags.ignoreErrors !== true) throw error;
        tell(`error: ${errorMessage(error)}`);
      }
    };
    if (flags.follow === true) await Promise.all(all.map(print));
    else for (const one of all) await print(one);
  });
}

interface ContainerOfPod {
  readonly pod: Pod;
  readonly container: string;
}

async function selectedPods(daemon: DaemonConnection, flags: LogsFlags): Promise<readonly Pod[]> {
  const isSelected = labelSelector(flags.selector);
  const pods = (await podsOf(daemon)).filter(
    (pod) => isWithin(pod, flags) && isSelected(pod.metadata.labels),
  );
  return pods.sort(byNamespaceAndName);
}

function containersOf(pod: Pod, flags: LogsFlags, tell: (line: string) => void): readonly string[] {
  const { allContainers = false, container } = flags;
  if (!allContainers) return [chosenContainer(pod, container, tell)];
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers].map((one) => one.name);
}

function refuseTooMany(count: number, { follow, maxLogRequests = MAX_LOG_REQUESTS }: LogsFlags): void {
  if (follow !== true || count <= maxLogRequests) return;
  throw invalid(
    `the logs of ${count} containers are to be followed, but --max-log-requests allows ${maxLogRequests}`,
  );
}

/** With its `?`. Throws where flags contradict each other, or a value cannot be read. */
function queryOf(flags: LogsFlags): string {
  const { follow, previous, timestamps, since, sinceTime, limitBytes = 0 } = flags;
  const { tail = flags.selector === undefined ? -1 : SELECTED_TAIL } = flags;
  if (flags.allContainers === true && flags.container !== undefined)
    throw invalid('--all-containers and --container exclude each other');
  if (since !== undefined && sinceTime !== undefined)
    throw invalid('--since and --since-time exclude each other');
  const query = new URLSearchParams();
  if (follow === true) query.set('follow', 'true');
  if (previous === true) query.set('previous', 'true');
  if (timestamps === true) query.set('timestamps', 'true');
  if (tail >= 0) query.set('tailLines', String(tail));
  if (limitBytes > 0) query.set('limitBytes', String(limitBytes));
  if (since !== undefined) query.set('sinceSeconds', String(secondsOf(since)));
  if (sinceTime !== undefined) query.set('sinceTime', checkedTime(sinceTime));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function secondsOf(since: string): number {
  const ms = parseDuration(since);
  if (ms === undefined || ms <= 0)
    throw invalid(`--since: "${since}" is no duration above zero, such as 5s, 2m or 3h`);
  return Math.max(1, Math.round(ms / 1000));
}

function checkedTime(text: string): string {
  if (parseGoTime(text)) return text;
  throw invalid(`--since-time: "${text}" is no time in RFC 3339, such as 2030-01-01T00:00:00Z`);
}

interface PrintedLog {
  readonly daemon: DaemonConnection;
  readonly pod: Pod;
  readonly container: string;
  readonly query: string;
  /** undefined: nothing else is printed, and the log passes as it is. */
  readonly lines: WholeLines | undefined;
  readonly stdout: Writable;
}

function linesOf({ metadata }: Pod, container: string, { prefix = false }: LogsFlags): WholeLines {
  return new WholeLines(prefix ? oneLine(`[pod/${metadata.name}/${container}] `) : '');
}

async function printLog(log: PrintedLog): Promise<void> {
  const { daemon, pod, container, query, lines, stdout } = log;
  const parts = [pod.metadata.namespace, pod.metadata.name, container].map((part) =>
    encodeURIComponent(part),
  );
  const response = await daemon.request(`/containerLogs/${parts.join('/')}${query}`);
  try {
    await copy(response, lines, stdout);
  } catch (error) {
    if (errnoCode(error) !== 'ECONNRESET') throw error;
    throw new StateletError('Unavailable', `the daemon at ${daemon.origin} has ended`, { cause: error });
  }
}

/** Leaves `stdout` open: other logs may follow. */
async function copy(
  response: IncomingMessage,
  lines: WholeLines | undefined,
  stdout: Writable,
): Promise<void> {
  await (lines
    ? pipeline(response, lines, stdout, { end: false })
    : pipeline(response, stdout, { end: false }));
}

const NEWLINE = 0x0a;
/** A longer line is passed on in pieces. */
const LINE_BYTES_MAX = 1024 * 1024;

/** Passes on whole lines at once, so that lines of several logs do not mix, and puts a prefix before each. */
class WholeLines extends Transform {
  readonly #prefix: Buffer;
  #rest: Buffer[] = [];
  #restBytes = 0;
  /** The beginning of the line has been passed on. */
  #isInLine = false;

  constructor(prefix: string) {
    super();
    this.#prefix = Buffer.from(prefix);
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) this.#pass(chunk.subarray(0, end));
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    if (this.#restBytes > LINE_BYTES_MAX) this.#pass(Buffer.alloc(0));
    done();
  }

  override _flush(done: () => void): void {
    this.#pass(Buffer.alloc(0));
    done();
  }

  #keep(rest: Buffer): void {
    this.#rest.push(rest);
    this.#restBytes += rest.length;
  }

  /** With what was kept before it. */
  #pass(last: Buffer): void {
    const lines = Buffer.concat([...this.#rest, last]);
    this.#rest = [];
    this.#restBytes = 0;
    const parts: Buffer[] = [];
    for (let from = 0; from < lines.length;) {
      const newline = lines.indexOf(NEWLINE, from);
      const end = newline < 0 ? lines.length : newline + 1;
      if (!this.#isInLine) parts.push(this.#prefix);
      parts.push(lines.subarray(from, end));
      this.#isInLine = newline < 0;
      from = end;
    }
    if (parts.length > 0) this.push(Buffer.concat(parts));
  }
}
