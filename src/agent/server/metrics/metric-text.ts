/** Metrics in the text format of Prometheus (version 0.0.4), with numbers as Go writes them. */

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

export type MetricType = 'counter' | 'gauge' | 'histogram';

/** A metric without its samples. */
export interface MetricHead {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
}

export interface Metric {
  readonly head: MetricHead;
  /** Each is a whole line. */
  readonly samples: readonly string[];
}

export type Labels = Readonly<Record<string, string>>;

/** The metrics by name, as the kubelet orders them. Those without samples are left out. */
export function metricsText(metrics: readonly Metric[]): string {
  const filled = metrics.filter(({ samples }) => samples.length > 0);
  const byName = filled.sort((a, b) => (a.head.name < b.head.name ? -1 : 1));
  return byName.map(metricText).join('');
}

function metricText({ head: { name, type, help }, samples }: Metric): string {
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${samples.join('')}`;
}

/** `timeMs`: when the value was read; without it, it is of the time of the scrape. `labels`: as from `labelText`. */
export function sample(name: string, labels: string, value: number, timeMs?: number): string {
  const block = labels === '' ? name : `${name}{${labels}}`;
  return timeMs === undefined
    ? `${block} ${goNumber(value)}\n`
    : `${block} ${goNumber(value)} ${Math.trunc(timeMs)}\n`;
}

/** `a="1",b="2"`: by name, as the kubelet orders them. */
export function labelText(labels: Labels): string {
  return Object.keys(labels)
    .sort()
    .map((name) => `${name}="${quoted(labels[name] ?? '')}"`)
    .join();
}

/** A metric of one kind with a sample for each of the values. */
export function metric(head: MetricHead, values: Iterable<readonly [labels: Labels, value: number]>): Metric {
  return {
    head,
    samples: Array.from(values, ([labels, value]) => sample(head.name, labelText(labels), value)),
  };
}

/** The shortest digits that give the number back; from a million on with an exponent, as Go's `%g`. */
export function goNumber(value: number): string {
  if (Number.isInteger(value) && value < 1e6 && value > -1e6) return String(value);
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  if (Number.isNaN(value)) return 'NaN';
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e6) return String(value);
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  return `${digits}e${exponent.charAt(0)}${exponent.slice(1).padStart(2, '0')}`;
}

const SPECIAL = /[\\\n]/g;
const SPECIAL_IN_QUOTES = /[\\\n"]/g;

function escaped(text: string): string {
  return text.replace(SPECIAL, escapeOf);
}

export function quoted(text: string): string {
  return text.replace(SPECIAL_IN_QUOTES, escapeOf);
}

function escapeOf(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`;
}
