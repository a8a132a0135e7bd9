/** The query of `/logs/`: logs of services, or one file. Rules and messages are the kubelet's. */
import { goJSON, goQuote } from '../formats/go-text.ts';
import { goRegexpProblem } from '../formats/go-regexp.ts';
import { compareGoTimes, formatGoTime, type GoTime, parseGoTime } from '../formats/time.ts';
import type { FormValues } from './form-values.ts';

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

/** As the kubelet tells several problems: each once. */
export function problemsText(problems: readonly string[]): string {
  const [one = '', ...others] = new Set(problems);
  return others.length === 0 ? one : `[${[one, ...others].join(', ')}]`;
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
