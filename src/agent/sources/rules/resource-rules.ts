/**
 * The rules of the API server's validation for requests, limits and references to them. The spec must fit the schema and have
 * its defaults, because default requests follow from limits.
 */
import {
  compareQuantity,
  parseQuantity,
  quantityString,
  type Quantity,
} from '../../policies/formats/quantity.ts';
import { containerTotals, isHugePages, isPodLevelResource } from '../../policies/pod/resources.ts';
import type { Container, PodSpec } from '../../../types/kubernetes.ts';
import type { ManifestProblem } from '../source.ts';

type Problems = Iterable<ManifestProblem>;
type Resources = NonNullable<Container['resources']>;

const NANOS = 10n ** 9n;
const HUGE_PAGES = 'hugepages-';
const CPU_DIVISORS = ['0', '1m', '1'];
const BYTE_DIVISORS = [
  '0',
  '1',
  '1k',
  '1M',
  '1G',
  '1T',
  '1P',
  '1E',
  '1Ki',
  '1Mi',
  '1Gi',
  '1Ti',
  '1Pi',
  '1Ei',
];

export function resourceProblems(spec: PodSpec): readonly ManifestProblem[] {
  const lists = ['initContainers', 'containers'] as const;
  return [
    ...podProblems(spec),
    ...lists.flatMap((list) =>
      (spec[list] ?? []).flatMap((container, index) => [
        ...containerProblems(`spec.${list}[${index}]`, container),
      ]),
    ),
    ...(spec.volumes ?? [])
      .flatMap(({ downwardAPI, projected }, index) => [
        ...(downwardAPI?.items ?? []).map(
          (item, i) => [`spec.volumes[${index}].downwardAPI.items[${i}]`, item.resourceFieldRef] as const,
        ),
        ...(projected?.sources ?? []).flatMap((source, s) =>
          (source.downwardAPI?.items ?? []).map(
            (item, i) =>
              [
                `spec.volumes[${index}].projected.sources[${s}].downwardAPI.items[${i}]`,
                item.resourceFieldRef,
              ] as const,
          ),
        ),
      ])
      .flatMap(([path, ref]) => [...divisorProblems(`${path}.resourceFieldRef`, ref)]),
  ];
}

function* containerProblems(path: string, container: Container): Problems {
  const { resources = {}, env = [], resizePolicy = [] } = container;
  yield* amountProblems(`${path}.resources`, resources);
  if ((resources.claims ?? []).length > 0)
    yield {
      field: `${path}.resources.claims`,
      message: 'needs spec.resourceClaims, which a pod of a file or URL cannot have',
    };
  for (const [index, { valueFrom }] of env.entries())
    yield* divisorProblems(`${path}.env[${index}].valueFrom.resourceFieldRef`, valueFrom?.resourceFieldRef);
  for (const [index, { resourceName }] of resizePolicy.entries()) {
    const isRepeated = resizePolicy.findIndex((other) => other.resourceName === resourceName) < index;
    if (isRepeated)
      yield {
        field: `${path}.resizePolicy[${index}].resourceName`,
        message: `"${resourceName}" is used twice`,
      };
  }
}

interface ResourceFieldRef {
  readonly resource: string;
  readonly divisor?: string;
}

function* divisorProblems(path: string, ref: ResourceFieldRef | undefined): Problems {
  if (!ref) return;
  const allowed = ref.resource.endsWith('.cpu') ? CPU_DIVISORS : BYTE_DIVISORS;
  const divisor = quantityString(parseQuantity(ref.divisor ?? '0'));
  if (allowed.includes(divisor)) return;
  const choice = allowed.filter((text) => text !== '0').join(', ');
  yield { field: `${path}.divisor`, message: `must be one of ${choice} (got "${divisor}")` };
}

/** The resources of a container, or of the pod as a whole. */
function* amountProblems(path: string, { limits = {}, requests = {} }: Resources): Problems {
  for (const [field, amounts] of [
    ['limits', limits],
    ['requests', requests],
  ] as const) {
    for (const [name, amount] of Object.entries(amounts)) {
      const problem = wholeProblem(name, parseQuantity(amount));
      if (problem !== undefined) yield { field: `${path}.${field}.${name}`, message: problem };
    }
  }
  for (const [name, request] of Object.entries(requests).filter(([name]) => !isOvercommittable(name))) {
    const limit = limits[name];
    const field = `${path}.requests.${name}`;
    if (limit === undefined)
      yield { field, message: 'needs a limit of the same amount: it cannot be overcommitted' };
    else if (compareQuantity(parseQuantity(request), parseQuantity(limit)) !== 0)
      yield { field, message: `must equal the limit, ${limit}: it cannot be overcommitted` };
  }
  const names = Object.keys({ ...limits, ...requests });
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory'))
    yield { field: path, message: 'huge pages need cpu or memory beside them' };
}

function isOvercommittable(name: string): boolean {
  return !isHugePages(name) && !name.includes('/');
}

/** Extended resources and huge pages can only be had in whole units. */
function wholeProblem(name: string, amount: Quantity): string | undefined {
  if (name.includes('/')) return amount.nanos % NANOS === 0n ? undefined : 'must be a whole number';
  if (!isHugePages(name)) return undefined;
  const size = parseQuantity(name.slice(HUGE_PAGES.length));
  const isMultiple = size.nanos > 0n && amount.nanos % size.nanos === 0n;
  return isMultiple ? undefined : `must be a multiple of ${name.slice(HUGE_PAGES.length)}`;
}

function* podProblems(spec: PodSpec): Problems {
  const { resources } = spec;
  if (!resources) return;
  const path = 'spec.resources';
  const { limits = {}, requests = {}, claims = [] } = resources;
  if (claims.length > 0) yield { field: `${path}.claims`, message: 'must not be set for the pod as a whole' };
  for (const [field, amounts] of [
    ['limits', limits],
    ['requests', requests],
  ] as const) {
    for (const name of Object.keys(amounts).filter((name) => !isPodLevelResource(name)))
      yield {
        field: `${path}.${field}.${name}`,
        message: 'only cpu, memory and hugepages-SIZE can be set for the pod as a whole',
      };
  }
  yield* amountProblems(path, resources);
  const totals = containerTotals(spec, 'requests');
  for (const [name, request] of Object.entries(requests)) {
    const [asked, limit, sum] = [parseQuantity(request), limits[name], totals.get(name)];
    const field = `${path}.requests.${name}`;
    if (limit !== undefined && compareQuantity(asked, parseQuantity(limit)) > 0)
      yield { field, message: `must not exceed the limit of the pod (${request} > ${limit})` };
    if (sum && isPodLevelResource(name) && compareQuantity(asked, sum) < 0)
      yield {
        field,
        message: `must be at least what its containers request together, ${quantityString(sum)}`,
      };
  }
  yield* containerLimitProblems(spec, limits);
}

function* containerLimitProblems(spec: PodSpec, limits: Readonly<Record<string, string>>): Problems {
  for (const list of ['initContainers', 'containers'] as const) {
    for (const [index, { resources }] of (spec[list] ?? []).entries()) {
      for (const [name, limit] of Object.entries(resources?.limits ?? {})) {
        const ofPod = limits[name];
        if (ofPod !== undefined && compareQuantity(parseQuantity(limit), parseQuantity(ofPod)) > 0)
          yield {
            field: `spec.${list}[${index}].resources.limits.${name}`,
            message: `must not exceed the limit of the pod, ${ofPod}`,
          };
      }
    }
  }
}
