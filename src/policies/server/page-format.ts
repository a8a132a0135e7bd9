/**
 * In which format `/statusz` and `/flagz` are wanted, by the API machinery's rules: as plain text, or as an object whose group,
 * version and kind the media type names (`application/json;g=config.k8s.io;v=v1beta1;as=Statusz`).
 */
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
