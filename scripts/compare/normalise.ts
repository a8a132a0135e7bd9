/** Replaces everything that differs from one run to the next: times, ids, folders. Pure. */

/** The names that replace the folders and addresses of a run. The longest is replaced first. */
export type Names = readonly (readonly [actual: string, name: string])[];

/** How many instances of a container are compared: whether there are more depends on timing. */
export const ATTEMPTS = 2;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g, '<id>'],
  // UIDs of static pods, and the hashes of their manifests. The `d` of `pod` is a hexadecimal digit, too.
  [/(?<=pod|(?<![0-9a-f]))[0-9a-f]{32}(?![0-9a-f])/g, '<uid>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, '<time>'],
  // The folders behind volumes: `..2026_01_02_03_04_05.123456789`.
  [/\.\.\d{4}(_\d\d){5}\.\w+/g, '..<time>'],
  // The files of termination messages.
  [/(containers\/[^/]+)\/[0-9a-f]{8}\b/g, '$1/<message>'],
  [/back-off \S+ restarting/g, 'back-off <delay> restarting'],
  [/ in [\d.]+[mµ]?s \([\d.]+[mµ]?s including waiting\)/g, ' in <delay> (<delay> including waiting)'],
  // The client's port of a connection.
  [/(\d+\.\d+\.\d+\.\d+):\d+->/g, '$1:<port>->'],
];

/** Fields that contain a time. */
const TIMES = new Set(['lastTransitionTime', 'lastProbeTime', 'startTime', 'startedAt', 'finishedAt']);

/** A line of a resolv.conf that a container has printed. */
const RESOLV_CONF_OPTIONS = /^(stdout F options )(.+)$/;

export function normaliseText(text: string, names: Names): string {
  let result = text;
  for (const [actual, name] of names.toSorted(([a], [b]) => b.length - a.length)) {
    if (actual !== '') result = result.replaceAll(actual, name);
  }
  for (const [pattern, name] of PATTERNS) result = result.replace(pattern, name);
  return result;
}

/** Normalises any JSON value, and the keys of objects. Null values are left out. */
export function normalise(value: unknown, names: Names): unknown {
  if (typeof value === 'string') return normaliseString(value, names);
  if (Array.isArray(value)) return value.map((item) => normalise(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    if (item === undefined || item === null) return [];
    if (TIMES.has(key)) return [[key, '<time>']];
    if (key === 'restartCount' && typeof item === 'number') return [[key, Math.min(item, ATTEMPTS - 1)]];
    if (key === 'dns_config') return [[key, withSortedOptions(normalise(item, names))]];
    if (key === 'envs') return [[key, sortedVariables(normalise(item, names))]];
    return [[normaliseText(key, names), normalise(item, names)]];
  });
  return Object.fromEntries(entries);
}

/** A line of a container's log in CRI's format, without its time. */
export function normaliseLogLine(line: string, names: Names): string {
  const text = line
    .replace(/^\S+ /, '')
    .replace(RESOLV_CONF_OPTIONS, (_line, start: string, options: string) => {
      return start + options.split(' ').toSorted().join(' ');
    });
  return normaliseText(text, names);
}

/** Removes empty objects and lists at any depth: Go writes empty structs that others omit. */
export function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutEmpty(item)] as const);
  return Object.fromEntries(entries.filter(([, item]) => !isEmpty(item)));
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** Sorted, because the kubelet writes DNS options in the random order of a Go map. */
function withSortedOptions(config: unknown): unknown {
  if (typeof config !== 'object' || config === null) return config;
  const { options, ...rest } = config as { readonly options?: readonly string[] };
  return options === undefined ? rest : { ...rest, options: options.toSorted() };
}

/** The variables are sorted, since the kubelet takes them from a Go map. */
function sortedVariables(variables: unknown): unknown {
  if (!Array.isArray(variables)) return variables;
  return (variables as { readonly key: string }[]).toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** JSON in a string, as in annotations, is normalised as JSON. */
function normaliseString(text: string, names: Names): unknown {
  if (!/^[[{]/.test(text)) return normaliseText(text, names);
  try {
    return normalise(JSON.parse(text), names);
  } catch {
    return normaliseText(text, names);
  }
}
