/** The query of `/logs/`: logs of services, or one file, and how files are shown. Rules and messages are the kubelet's. */
import { goRegexpProblem } from '../formats/go-regexp.ts';
import { goJSON, goQuote } from '../formats/go-text.ts';
import { compareGoTimes, formatGoTime, type GoTime, parseGoTime } from '../formats/time.ts';
import type { FormValues } from './log-options.ts';

export interface SystemLogQuery {
  readonly services: readonly string[];
  /** Below the folder of logs. */
  readonly files: readonly string[];
  readonly sinceTime: GoTime | undefined;
  readonly untilTime: GoTime | undefined;
  readonly tailLines: bigint | undefined;
  /** 0: this boot of the machine, -1: the one before. */
  readonly boot: bigint | undefined;
  /** A regular expression; empty: all lines. */
  readonly pattern: string;
}

const LINES_MAX = 100_000n;
const SERVICES_MAX = 4;
const SERVICE_BYTES_MAX = 256;
const UNSAFE = /[^a-zA-Z\-_.:0-9@]/;
const INT64_MAX = 2n ** 63n - 1n;

/** Undefined: the query asks for nothing. `problems`: what cannot be read. */
export function systemLogQuery(form: FormValues): {
  readonly query: SystemLogQuery | undefined;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const first = (name: string) => form.get(name)?.[0] ?? '';
  const asked = form.get('query') ?? [];
  const files = asked.filter((text) => /[/\\]/.test(text));
  const services = asked.filter((text) => !/[/\\]/.test(text) && text.trim() !== '');
  if (form.has('query') && files.length + services.length === 0)
    problems.push(`query: Invalid value: ${goJSON(asked)}: query cannot be empty`);
  const query = {
    services,
    files,
    sinceTime: time('sinceTime', first('sinceTime'), problems),
    untilTime: time('untilTime', first('untilTime'), problems),
    boot: integer('boot', first('boot'), problems),
    tailLines: integer('tailLines', first('tailLines'), problems),
    pattern: first('pattern'),
  };
  const isAsked = form.has('query') || hasOptions(query);
  return { query: isAsked && problems.length === 0 ? query : undefined, problems };
}

/** What is wrong with the query itself, without a look at files. `fileProblem`: why the file cannot be served, if only a file is asked for. */
export function queryProblems(query: SystemLogQuery, fileProblem?: string): readonly string[] {
  const { sinceTime, untilTime, boot, tailLines } = query;
  const problems = [...serviceProblems(query.services), ...targetProblems(query, fileProblem)];
  if (sinceTime && untilTime && compareGoTimes(sinceTime, untilTime) > 0)
    problems.push(
      `untilTime: Invalid value: ${goQuote(formatGoTime(untilTime, { short: true }))}: must be after \`sinceTime\``,
    );
  if (boot !== undefined && boot > 0n)
    problems.push(`boot: Invalid value: ${String(boot)}: must be less than 1`);
  if (tailLines !== undefined && (tailLines < 0n || tailLines > LINES_MAX)) {
    const range = `must be between 0 and ${String(LINES_MAX)}, inclusive`;
    problems.push(`tailLines: Invalid value: ${String(tailLines)}: ${range}`);
  }
  const patternProblem = goRegexpProblem(query.pattern);
  if (patternProblem !== undefined)
    problems.push(`pattern: Invalid value: ${goQuote(query.pattern)}: ${patternProblem}`);
  return problems;
}

/** Options are for services only. */
export function hasOptions({ sinceTime, untilTime, boot, tailLines, pattern }: SystemLogQuery): boolean {
  return (sinceTime ?? untilTime ?? boot ?? tailLines) !== undefined || pattern !== '';
}

/** The only file that is asked for, if nothing else is. A slash at its beginning says only that it is a file. */
export function onlyFile(query: SystemLogQuery): string | undefined {
  const isAlone = query.files.length === 1 && query.services.length === 0 && !hasOptions(query);
  return isAlone ? query.files[0]?.replace(/^\/+/, '') : undefined;
}

/** The arguments of journalctl. Times are moments: the kubelet's are in the zone of the node, whatever the request says. */
export function journalArguments(query: SystemLogQuery, services: readonly string[]): readonly string[] {
  const { sinceTime, untilTime, tailLines, boot, pattern } = query;
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceTime ? [`--since=@${sinceTime.seconds}`] : []),
    ...(untilTime ? [`--until=@${untilTime.seconds}`] : []),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${String(tailLines)}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === '' ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ['--boot', String(boot)]),
  ];
}

/** Where the log of a service may be that does not log to the journal, the first place first. */
export function serviceLogFiles(service: string): readonly string[] {
  return [service, `${service}.log`, `${service}/${service}.log`];
}

/** A list as Go's `%v` prints it. */
export function goList(texts: readonly string[]): string {
  return `[${texts.join(' ')}]`;
}

function serviceProblems(services: readonly string[]): readonly string[] {
  const problems = services.flatMap((service) => {
    const invalid = `query: Invalid value: ${goQuote(service)}`;
    if (new TextEncoder().encode(service).length > SERVICE_BYTES_MAX)
      return `${invalid}: length must be less than ${SERVICE_BYTES_MAX}`;
    return UNSAFE.test(service) ? `${invalid}: input contains unsupported characters` : [];
  });
  if (services.length > SERVICES_MAX)
    problems.push(`query: Too many: ${services.length}: must have at most ${SERVICES_MAX} items`);
  return problems;
}

function targetProblems(query: SystemLogQuery, fileProblem: string | undefined): readonly string[] {
  const { files, services } = query;
  if (files.length + services.length === 0) return ['query: Required value: cannot be empty with options'];
  if (files.length > 0 && services.length > 0) {
    const both = goQuote(`${goList(files)}, ${goList(services)}`);
    return [`query: Invalid value: ${both}: cannot specify a file and service`];
  }
  const invalid = `query: Invalid value: ${goJSON(files)}`;
  if (files.length > 1) return [`${invalid}: cannot specify more than one file`];
  if (files.length === 1 && hasOptions(query)) return [`${invalid}: cannot specify file with options`];
  return fileProblem === undefined ? [] : [`${invalid}: ${fileProblem}`];
}

function time(name: string, text: string, problems: string[]): GoTime | undefined {
  if (text === '') return undefined;
  const found = parseGoTime(text);
  if (!found) problems.push(`${name}: Invalid value: ${goQuote(text)}: invalid time format`);
  return found;
}

function integer(name: string, text: string, problems: string[]): bigint | undefined {
  if (text === '') return undefined;
  const value = /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
  if (value !== undefined && value <= INT64_MAX && value >= -INT64_MAX - 1n) return value;
  const problem = value === undefined ? 'invalid syntax' : 'value out of range';
  const quoted = goQuote(text);
  problems.push(`${name}: Invalid value: ${quoted}: strconv.Atoi: parsing ${quoted}: ${problem}`);
  return undefined;
}

// How Go's FileServer shows files: the list of a folder, types of content, and parts of files.

export interface ListedFile {
  readonly name: string;
  readonly isFolder: boolean;
}

/** A page with a link to each file, by name. */
export function fileListing(files: readonly ListedFile[]): string {
  const names = files.map(({ name, isFolder }) => (isFolder ? `${name}/` : name));
  const links = byBytes(names).map((name) => `<a href="${linkTo(name)}">${htmlEscaped(name)}</a>\n`);
  const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n';
  return `${head}<pre>\n${links.join('')}</pre>\n`;
}

/** Go compares names without the slash that marks folders, which sorts before all letters but after some signs. */
function byBytes(names: readonly string[]): readonly string[] {
  const bare = (name: string) => name.replace(/\/$/, '');
  return names.toSorted((a, b) => compared(bare(a), bare(b)));
}

function compared(a: string, b: string): number {
  const [left, right] = [a, b].map((name) => new TextEncoder().encode(name)) as [Uint8Array, Uint8Array];
  const differing = left.findIndex((byte, index) => byte !== right[index]);
  return differing < 0 ? left.length - right.length : (left[differing] ?? 0) - (right[differing] ?? -1);
}

function linkTo(name: string): string {
  const escaped = encodeURIComponent(name)
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll(/%(?:2[46BCF]|3[ABD]|40)/g, (sign) => decodeURIComponent(sign));
  // What stands before a colon would be a scheme.
  return /^[^/]*:/.test(escaped) ? `./${escaped}` : escaped;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

function htmlEscaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/**
 * By the beginning of a file. A log is never HTML to a browser, although Go would say so of one that looks like it: pods choose what is
 * in their logs.
 */
export function contentType(beginning: Uint8Array): string {
  if ([0x1f, 0x8b, 0x08].every((byte, index) => beginning[index] === byte)) return 'application/x-gzip';
  return beginning.some(isBinary) ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}

/** As browsers sniff: control characters besides tab, line feed, form feed, carriage return and escape. */
function isBinary(byte: number): boolean {
  return byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f);
}

export interface ByteRange {
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
}

/** The part that the header `Range` asks for; undefined: the whole file, as for several parts at once; `none`: there is no such part. */
export function byteRange(header: string | undefined, sizeBytes: number): ByteRange | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'none' : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= sizeBytes
    ? 'none'
    : { start, end: Math.min(last === '' ? Infinity : Number(last), sizeBytes - 1) };
}
