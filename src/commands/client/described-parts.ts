/** What `kubectl describe` shows of objects of any kind: lines with tabs between their cells. */
import { without } from '../../agent/policies/formats/canonical-json.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import { compareTexts } from '../../agent/policies/formats/text-order.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import { lastSeen } from './events.ts';
import { tabbedText } from './tabbed-text.ts';

type Pairs = Readonly<Record<string, string>>;

/** `Wed, 01 Jan 2030 00:00:00 +0000`. */
export function longTime(time: string | undefined): string {
  const parsed = new Date(time ?? '');
  return Number.isNaN(parsed.getTime()) ? '<unknown>' : parsed.toUTCString().replace('GMT', '+0000');
}

/** A line for a text that is there. */
export function given(label: string, text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : [`${label}:\t${oneLine(text)}`];
}

/** The first beside the label, the others below it. */
export function listLines(label: string, texts: readonly string[]): readonly string[] {
  const [first = '<none>', ...others] = texts;
  return [`${label}:\t${first}`, ...others.map((text) => `\t${text}`)];
}

/** `key=value`. */
export function pairLines(label: string, pairs: Pairs = {}): readonly string[] {
  return listLines(
    label,
    sortedEntries(pairs).map(([key, value]) => oneLine(`${key}=${value}`)),
  );
}

/** kubectl keeps the whole manifest in it. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const ANNOTATION_MAX = 140;

/** A long one, and one of several lines, stands below its key. */
export function annotationLines(annotations: Pairs = {}): readonly string[] {
  const texts = sortedEntries(without(annotations, [LAST_APPLIED])).flatMap(([key, value]) => {
    const lines = value.replace(/\n$/u, '').split('\n');
    const whole = `${key}: ${lines[0] ?? ''}`;
    if (lines.length === 1 && whole.length <= ANNOTATION_MAX) return oneLine(whole);
    return [oneLine(`${key}:`), ...lines.map((line) => `  ${shortened(oneLine(line))}`)];
  });
  return listLines('Annotations', texts);
}

function shortened(line: string): string {
  return line.length > ANNOTATION_MAX - 2 ? `${line.slice(0, ANNOTATION_MAX - 2)}...` : line;
}

/** A resource a line, below a label. */
export function amountLines(label: string, list: Pairs = {}, indent = ''): readonly string[] {
  const entries = sortedEntries(list);
  if (entries.length === 0) return [];
  const lines = entries.map(([name, amount]) => `  ${oneLine(name)}:\t${oneLine(amount)}`);
  return [label, ...lines].map((line) => indent + line);
}

/** `indent`: of the line below. */
export function seccompLines(
  context:
    | { readonly seccompProfile?: { readonly type: string; readonly localhostProfile?: string } }
    | undefined,
  indent: string,
): readonly string[] {
  const { type, localhostProfile } = context?.seccompProfile ?? {};
  return [...given('SeccompProfile', type), ...given(`${indent}LocalhostProfile`, localhostProfile)];
}

/** What it does now: kubectl does not have these lines. */
export function whyLines(why: Why | undefined): readonly string[] {
  return why === undefined ? [] : ['Why:', ...why.sentences.map((text) => `  ${oneLine(text)}`)];
}

/** In the order of their keys. */
export function sortedEntries(pairs: Pairs): readonly (readonly [string, string])[] {
  return Object.entries(pairs).sort(([a], [b]) => compareTexts(a, b));
}

/** undefined: they are not wanted. As kubectl has it, their table has columns of its own. */
export function withEvents(
  body: readonly string[],
  events: readonly CoreEvent[] | undefined,
  nowMs: number,
): string {
  if (events === undefined) return tabbedText(body);
  if (events.length === 0) return tabbedText([...body, 'Events:\t<none>']);
  return `${tabbedText(body)}${tabbedText(eventLines(events, nowMs))}`;
}

function eventLines(events: readonly CoreEvent[], nowMs: number): readonly string[] {
  const rows = events.map((event) => {
    const { type = '', reason = '', source, message = '', involvedObject } = event;
    const { fieldPath = '' } = involvedObject;
    const text = fieldPath === '' ? message.trim() : `${fieldPath}: ${message.trim()}`;
    return [type, reason, lastSeen(event, nowMs), source?.component ?? '', text].map(oneLine);
  });
  const table = [
    ['Type', 'Reason', 'Age', 'From', 'Message'],
    ['----', '------', '----', '----', '-------'],
    ...rows,
  ];
  return ['Events:', ...table.map((cells) => `  ${cells.join('\t')}`)];
}
