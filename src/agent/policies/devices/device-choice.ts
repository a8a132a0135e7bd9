/** Which devices a container gets. The order and the words of refusals are the kubelet's, because tools search for them. */
import { type Devices, hasTopology, healthyIds } from './device-list.ts';

export interface DeviceRequest {
  readonly podUID: string;
  readonly container: string;
  readonly resource: string;
  readonly count: number;
  /** Undefined where no plugin has ever registered it. */
  readonly devices: Devices | undefined;
  /** The container has them already. */
  readonly held: readonly string[] | undefined;
  /** Devices of its pod's init containers, which have ended when it starts. */
  readonly reusable: ReadonlySet<string>;
  /** Held by any container. */
  readonly allocated: ReadonlySet<string>;
  /** Where the topology manager wants them; undefined: anywhere. */
  readonly numaNodes: readonly number[] | undefined;
}

export type DeviceChoice =
  | { readonly kind: 'held' }
  | { readonly kind: 'refused'; readonly problem: string }
  | { readonly kind: 'chosen'; readonly ids: readonly string[] }
  /** There are more candidates than needed: the plugin may say which ones it prefers. */
  | { readonly kind: 'open'; readonly question: PreferenceQuestion };

export interface PreferenceQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
  /** Of the plugin's answer, only these count. The rest is taken from them in this order. */
  readonly candidates: readonly string[];
}

export function chooseDevices(request: DeviceRequest): DeviceChoice {
  const { podUID, container, resource, count, devices, held, reusable, allocated } = request;
  const refused = (problem: string): DeviceChoice => ({ kind: 'refused', problem });
  if (held !== undefined && held.length !== count) {
    const what = `pod "${podUID}" container "${container}" changed request for resource "${resource}"`;
    return refused(`${what} from ${held.length} to ${count}`);
  }
  if (devices === undefined) return refused(`cannot allocate unregistered device ${resource}`);
  const healthy = healthyIds(devices);
  if (healthy.length === 0)
    return refused(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
  if (held?.some((id) => devices.get(id)?.isHealthy !== true) === true)
    return refused(
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
    );
  if (held !== undefined || count === 0) return { kind: 'held' };
  const reused = healthy.filter((id) => reusable.has(id)).slice(0, count);
  if (reused.length === count) return { kind: 'chosen', ids: reused };
  const available = healthy.filter((id) => !allocated.has(id) && !reusable.has(id));
  const needed = count - reused.length;
  if (available.length < needed)
    return refused(
      `requested number of devices unavailable for ${resource}. Requested: ${needed}, Available: ${available.length}`,
    );
  return chooseAmong(request, devices, { reused, available });
}

/** Devices near to the wanted NUMA nodes come first, devices without NUMA nodes last. */
function chooseAmong(
  { count, numaNodes }: DeviceRequest,
  devices: Devices,
  { reused, available }: { readonly reused: readonly string[]; readonly available: readonly string[] },
): DeviceChoice {
  const wanted = numaNodes !== undefined && hasTopology(devices) ? new Set(numaNodes) : undefined;
  const rank = (id: string) => {
    const nodes = devices.get(id)?.numaNodes ?? [];
    if (nodes.some((node) => wanted?.has(node))) return 0;
    return nodes.length > 0 ? 1 : 2;
  };
  const aligned = wanted ? available.filter((id) => rank(id) === 0) : [];
  const needed = count - reused.length;
  if (needed < aligned.length)
    return openChoice({ included: reused, candidates: aligned, available: aligned, count });
  const included = [...reused, ...aligned];
  if (included.length === count) return { kind: 'chosen', ids: included };
  const rest = available.filter((id) => !aligned.includes(id));
  const candidates = wanted ? rest.toSorted((a, b) => rank(a) - rank(b)) : rest;
  if (included.length + candidates.length === count)
    return { kind: 'chosen', ids: [...included, ...candidates] };
  return openChoice({ included, candidates, available, count });
}

function openChoice(choice: {
  readonly included: readonly string[];
  readonly candidates: readonly string[];
  readonly available: readonly string[];
  readonly count: number;
}): DeviceChoice {
  const { included, candidates, available, count: size } = choice;
  const question = {
    available: [...new Set([...available, ...included])],
    mustInclude: included,
    size,
    candidates,
  };
  return { kind: 'open', question };
}

/** `preferred`: the plugin's answer, which may contain anything. */
export function withPreferred(
  { mustInclude, size, candidates }: PreferenceQuestion,
  preferred: readonly string[],
): readonly string[] {
  const wanted = new Set(preferred);
  const first = candidates.filter((id) => wanted.has(id));
  const others = candidates.filter((id) => !wanted.has(id));
  return [...mustInclude, ...first, ...others].slice(0, size);
}
