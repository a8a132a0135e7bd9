/** The functions with which all random requests are drawn. */
import type { SeededRandom } from '../../../../src/simulation/plan/seeded-random.ts';

/**
 * A request. In its path and body, `<<uid PATH>>`, `<<version PATH>>` and `<<continue>>` stand for values in the latest answers of that server: the
 * UID and version of an object, and where a list goes on.
 */
export interface RandomStep {
  readonly as: 'admin' | 'node';
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly body?: unknown;
  /** The body is merged into the object as the server has answered it last, or the first time. */
  readonly onto?: 'latest' | 'earliest';
}

export const TYPES = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;
const MANAGERS = ['', 'alice', 'bob'];
export const NAMES = ['a', 'b', 'c'];
export const NODES = ['node-1', 'node-2'];
export const [NODE = ''] = NODES;

export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** What is drawn from: the drawing functions, and how often each is taken. */
export class Draw {
  readonly #random: SeededRandom;
  readonly namespace: string;

  constructor(random: SeededRandom, namespace: string) {
    this.#random = random;
    this.namespace = namespace;
  }

  pick<T>(items: readonly T[]): T {
    return this.#random.pick(items);
  }

  chance(share: number): boolean {
    return this.#random.next() < share;
  }

  /** Mostly empty. */
  query(...more: readonly string[]): string {
    const manager = this.pick(MANAGERS);
    const all = [
      ...(manager === '' ? [] : [`fieldManager=${manager}`]),
      ...(this.chance(0.05) ? ['dryRun=All'] : []),
      ...(this.chance(0.15) ? [`fieldValidation=${this.pick(['Strict', 'Warn', 'Ignore', 'Strict'])}`] : []),
      ...more,
    ];
    return all.length === 0 ? '' : `?${all.join('&')}`;
  }

  labels(): Record<string, string> {
    return this.pick<Record<string, string>>([
      { color: 'blue' },
      { color: 'red' },
      { color: 'blue', size: 'big' },
      { size: 'small' },
    ]);
  }

  weighted(rows: readonly (readonly [weight: number, make: () => RandomStep])[]): RandomStep {
    let left = this.#random.next() * rows.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of rows) {
      left -= weight;
      if (left < 0) return make();
    }
    throw new Error('no step is left');
  }
}

export const at = (draw: Draw, plural: string, name = ''): string =>
  `/api/v1/namespaces/${draw.namespace}/${plural}${name === '' ? '' : `/${name}`}`;

export const applyOptions = (draw: Draw): string[] =>
  draw.chance(0.3) ? ['force=true'] : draw.chance(0.1) ? ['force=false'] : [];

export function metadataOf(draw: Draw): object {
  return draw.pick<object>([
    {},
    {},
    { labels: draw.labels() },
    { labels: draw.labels(), annotations: { a: 'b' } },
    { finalizers: ['example.com/one'] },
    { labels: { 'not ok!': 'x' } },
    { finalizers: ['bad'] },
    { name: 'Not A Name' },
    { namespace: 'elsewhere' },
  ]);
}

export function deletion(draw: Draw, as: RandomStep['as'], path: string): RandomStep {
  const body = draw.pick<object | undefined>([
    ...[undefined, undefined, undefined],
    { preconditions: { uid: `<<uid ${path}>>` } },
    { preconditions: { uid: 'another' } },
    { preconditions: { resourceVersion: `<<version ${path}>>` } },
    { preconditions: { resourceVersion: '1' } },
    { propagationPolicy: 'Background' },
    { propagationPolicy: 'Foreground' },
    { propagationPolicy: 'Orphan' },
    { propagationPolicy: 'Sideways' },
    { gracePeriodSeconds: 0 },
    { gracePeriodSeconds: 5 },
    { orphanDependents: true },
    // A dry run of a pod's deletion shows a grace period that the deletion itself does not have.
    ...(path.includes('/pods/') ? [] : [{ dryRun: ['All'] }]),
  ]);
  const query = draw.pick([
    '',
    '',
    '',
    '?gracePeriodSeconds=3',
    '?gracePeriodSeconds=0',
    '?propagationPolicy=Foreground',
  ]);
  return {
    as,
    method: 'DELETE',
    path: path + query,
    ...(body !== undefined && { body: { apiVersion: 'v1', kind: 'DeleteOptions', ...body } }),
  };
}
