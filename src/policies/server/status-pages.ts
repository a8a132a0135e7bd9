/** What `/statusz` and `/flagz` say, as text for people and as objects of `config.k8s.io`. */
import { rfc3339 } from '../formats/time.ts';

export interface StatusFacts {
  /** Unix ms. */
  readonly startedAt: number;
  readonly now: number;
  readonly binaryVersion: string;
  /** The version of Kubernetes whose kubelet this program behaves as: `1.36`. */
  readonly emulationVersion: string;
  /** Of the program that runs the code: `node v24.1.0`. */
  readonly platform: string;
  readonly paths: readonly string[];
}

const NAME = 'statelet';
const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for ' +
  'debugging purposes only.';

export function statusText(facts: StatusFacts): string {
  const lines = [
    `Started  ${unixDate(facts.startedAt)}`,
    `Up  ${upText(facts)}`,
    `Platform  ${facts.platform}`,
    `Binary version  ${facts.binaryVersion}`,
    `Emulation version  ${facts.emulationVersion}`,
    `Paths  ${facts.paths.join(' ')}`,
  ];
  return `\n${NAME} statusz\n${WARNING}\n\n${lines.join('\n')}\n`;
}

/** The type has a field for the version of Go, and none for another platform: it holds the platform's name with its version. */
export function statusObject(facts: StatusFacts, apiVersion: string): object {
  return {
    kind: 'Statusz',
    apiVersion,
    metadata: { name: NAME },
    startTime: rfc3339(facts.startedAt),
    uptimeSeconds: upSeconds(facts),
    goVersion: facts.platform,
    binaryVersion: facts.binaryVersion,
    emulationVersion: facts.emulationVersion,
    paths: facts.paths,
  };
}

type Flags = Readonly<Record<string, string>>;

export function flagsText(flags: Flags): string {
  const lines = sorted(flags).map(([name, value]) => `${name} ${value}\n`);
  return `\n${NAME} flagz\n${WARNING}\n${lines.join('')}`;
}

export function flagsObject(flags: Flags, apiVersion: string): object {
  return { kind: 'Flagz', apiVersion, metadata: { name: NAME }, flags: Object.fromEntries(sorted(flags)) };
}

function sorted(flags: Flags): readonly [string, string][] {
  return Object.entries(flags).sort(([one], [other]) => (one < other ? -1 : 1));
}

function upSeconds({ startedAt, now }: StatusFacts): number {
  return Math.max(0, Math.floor((now - startedAt) / 1000));
}

function upText(facts: StatusFacts): string {
  const seconds = upSeconds(facts);
  const [minutes, rest] = [Math.floor(seconds / 60) % 60, seconds % 60];
  return `${Math.floor(seconds / 3600)} hr ${twoDigits(minutes)} min ${twoDigits(rest)} sec`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun'].concat(['Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']);

/** As the command `date` writes it: `Sun Nov  2 15:39:35 UTC 2026`. */
function unixDate(unixMs: number): string {
  const date = new Date(unixMs);
  const day = `${DAYS[date.getUTCDay()]} ${MONTHS[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2)}`;
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(twoDigits).join(':');
  return `${day} ${clock} UTC ${date.getUTCFullYear()}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
