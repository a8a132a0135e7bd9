/**
 * What `/statusz` and `/flagz` say, and in which format they are wanted, by the API machinery's rules: as plain text, or as an object whose
 * group, version and kind the media type names (`application/json;g=config.k8s.io;v=v1beta1;as=Statusz`).
 */
import { rfc3339 } from '../formats/time.ts';

const GROUP = 'config.k8s.io';
const VERSIONS = ['v1beta1', 'v1alpha1'] as const;
const OBJECT_TYPES = ['json', 'yaml'] as const;

export type PageFormat =
  | { readonly type: 'text' }
  | {
      readonly type: 'json' | 'yaml';
      readonly apiVersion: `${typeof GROUP}/${(typeof VERSIONS)[number]}`;
      readonly version: (typeof VERSIONS)[number];
    };

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly params: ReadonlyMap<string, string>;
}

/** `accept`: the header, empty without one. Undefined: none of the formats is wanted. */
export function pageFormat(accept: string, kind: string): PageFormat | undefined {
  if (accept === '') return { type: 'text' };
  for (const range of rangesOf(accept)) {
    const format = formatOf(range, kind);
    if (format !== undefined) return format;
  }
  return undefined;
}

/** The format of the answer that none of the formats is wanted. */
export function refusalType(accept: string): 'json' | 'yaml' {
  const plain = rangesOf(accept).filter(({ params }) => !isConverted(params));
  const type = plain.flatMap(
    (range) => OBJECT_TYPES.find((name) => covers(range, 'application', name)) ?? [],
  );
  return type[0] ?? 'json';
}

function formatOf(range: Range, kind: string): PageFormat | undefined {
  const { params } = range;
  if (!isConverted(params)) return covers(range, 'text', 'plain') ? { type: 'text' } : undefined;
  const version = VERSIONS.find((name) => name === params.get('v'));
  const type = OBJECT_TYPES.find((name) => covers(range, 'application', name));
  if (type === undefined || version === undefined) return undefined;
  if (params.get('g') !== GROUP || params.get('as') !== kind) return undefined;
  return { type, apiVersion: `${GROUP}/${version}`, version };
}

/** Whether the media type names an object. */
function isConverted(params: Range['params']): boolean {
  return ['g', 'v', 'as'].some((name) => params.has(name));
}

function covers({ type, subtype }: Range, ofType: string, ofSubtype: string): boolean {
  if (type === '*') return subtype === '*';
  return type === ofType && (subtype === '*' || subtype === ofSubtype);
}

/** Precise ranges come first, then those of the higher quality. */
function rangesOf(accept: string): readonly Range[] {
  return accept
    .split(',')
    .flatMap((part) => rangeOf(part) ?? [])
    .sort((one, other) => vagueness(one) - vagueness(other) || other.quality - one.quality);
}

function vagueness({ type, subtype }: Range): number {
  return Number(type === '*') + Number(subtype === '*');
}

function rangeOf(text: string): Range | undefined {
  const [range = '', ...options] = text.split(';').map((part) => part.trim());
  const [type = '', subtype = type === '*' ? '*' : undefined] = range.split('/').map((part) => part.trim());
  if (type === '' || subtype === undefined) return undefined;
  const params = new Map(
    options.map((option): [string, string] => {
      const [name = '', value = ''] = option.split('=').map((part) => part.trim());
      return [name, value];
    }),
  );
  const quality = Number.parseFloat(params.get('q') ?? '1');
  params.delete('q');
  return { type, subtype, params, quality: Number.isNaN(quality) ? 1 : quality };
}

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
