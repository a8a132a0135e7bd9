/** Sorts recorded calls by pod, and prepares them for the comparison. Pure. */
import { decodeMessage, isDescribed, type PlainMessage } from './cri-messages.ts';
import { ATTEMPTS } from './normalise.ts';
import type { RecordedCall } from './recording-proxy.ts';

/** A call that belongs to a pod. */
export interface PodCall {
  readonly pod: string;
  readonly method: string;
  /** `main/0`; empty if the call is about the sandbox. */
  readonly container: string;
  readonly request: PlainMessage;
  readonly code: number | undefined;
  readonly atMs: number;
  readonly endMs: number;
}

interface Metadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly attempt?: number;
}

export const methodOf = ({ path }: RecordedCall): string => path.slice(path.lastIndexOf('/') + 1);

/** The calls that belong to a pod; `pod` is `namespace/name`. */
export function podCalls(calls: readonly RecordedCall[]): readonly PodCall[] {
  const owners = new Map<string, { pod: string; container: string }>();
  return calls.flatMap((call): PodCall[] => {
    const method = methodOf(call);
    if (!isDescribed(method)) return [];
    const request = decodeMessage(`${method}Request`, call.request);
    const owner = ownerOf(request, owners);
    if (owner === undefined) return [];
    learn(method, call, owner, owners);
    const { code, atMs, endMs = Infinity } = call;
    return [{ ...owner, method, request, code, atMs, endMs }];
  });
}

type Owners = Map<string, { pod: string; container: string }>;

function ownerOf(request: PlainMessage, owners: Owners): { pod: string; container: string } | undefined {
  const config = (request.config ?? {}) as { metadata?: Metadata };
  const sandbox = (request.sandbox_config ?? request.config) as { metadata?: Metadata } | undefined;
  if (sandbox?.metadata?.namespace !== undefined) {
    const pod = `${sandbox.metadata.namespace}/${sandbox.metadata.name ?? ''}`;
    const isContainer = request.sandbox_config !== undefined && request.config !== undefined;
    const { name = '', attempt = 0 } = config.metadata ?? {};
    return { pod, container: isContainer ? `${name}/${attempt}` : '' };
  }
  const id = request.container_id ?? request.pod_sandbox_id;
  return typeof id === 'string' ? owners.get(id) : undefined;
}

function learn(method: string, call: RecordedCall, owner: ReturnType<Owners['get']>, owners: Owners): void {
  if (owner === undefined || !['RunPodSandbox', 'CreateContainer'].includes(method)) return;
  const answer = decodeMessage(`${method}Response`, call.response);
  owners.set(String(answer.pod_sandbox_id ?? answer.container_id), owner);
}

/** The calls that are compared in their order. Removals are not among them: each agent has its own time for them. */
const IN_SEQUENCE = new Set(
  ['RunPodSandbox', 'PullImage', 'CreateContainer', 'StartContainer', 'StopContainer'].concat([
    'StopPodSandbox',
    'ExecSync',
    'UpdateContainerResources',
  ]),
);

/**
 * A pod's calls before and after a moment. Probes that run at that moment, or after it, are left out: they depend on timing.
 */
export function splitAt(
  calls: readonly PodCall[],
  momentMs: number,
): { readonly starts: readonly PodCall[]; readonly ends: readonly PodCall[] } {
  const before = calls.filter(({ atMs }) => atMs < momentMs);
  const probes = new Set(before.filter(isExec).map(commandOf));
  const starts = before.filter((call) => !isExec(call) || call.endMs <= momentMs);
  const ends = calls.filter(
    (call) =>
      call.atMs >= momentMs &&
      (call.method.startsWith('Stop') || (isExec(call) && !probes.has(commandOf(call)))),
  );
  return { starts, ends };
}

const isExec = ({ method }: PodCall): boolean => method === 'ExecSync';
const commandOf = ({ request }: PodCall): string => JSON.stringify(request.cmd);

const isEarly = ({ container }: PodCall): boolean =>
  container === '' || Number(container.split('/')[1]) < ATTEMPTS;

/**
 * The calls of a pod in their order, each as a line, and each line once: how often something is tried again depends on timing.
 * Calls that overlap are in alphabetical order.
 */
export function sequence(calls: readonly PodCall[]): readonly string[] {
  const lines = calls.filter((call) => IN_SEQUENCE.has(call.method) && isEarly(call));
  const groups: { lines: string[]; endMs: number }[] = [];
  for (const call of lines) {
    const group = groups.at(-1);
    if (group !== undefined && call.atMs < group.endMs) {
      group.lines.push(lineOf(call));
      group.endMs = Math.max(group.endMs, call.endMs);
    } else groups.push({ lines: [lineOf(call)], endMs: call.endMs });
  }
  return [...new Set(groups.flatMap((group) => group.lines.toSorted()))];
}

function lineOf({ method, container, request, code }: PodCall): string {
  const details = {
    ExecSync: () => ` ${JSON.stringify(request.cmd)}`,
    StopContainer: () => ` timeout ${Number(request.timeout ?? 0)}`,
    PullImage: () => ` ${(request.image as { image?: string } | undefined)?.image ?? ''}`,
  }[method];
  const outcome = code === 0 || code === undefined ? '' : ` fails with code ${code}`;
  return [method, container].filter(Boolean).join(' ') + (details?.() ?? '') + outcome;
}

/** The requests of a pod by sandbox, container and image: the first one of each. */
export function requests(calls: readonly PodCall[]): {
  readonly sandboxes: Readonly<Record<string, unknown>>;
  readonly containers: Readonly<Record<string, unknown>>;
  readonly pulls: Readonly<Record<string, unknown>>;
} {
  const found = { sandboxes: new Map(), containers: new Map(), pulls: new Map() };
  const add = (kind: keyof typeof found, key: string, request: unknown) => {
    if (!found[kind].has(key)) found[kind].set(key, request);
  };
  for (const call of calls.filter(isEarly)) {
    const { method, request, container } = call;
    if (method === 'RunPodSandbox') add('sandboxes', String(attemptOf(request)), request);
    // Without the sandbox's id, which the runtime makes, and its configuration, which is compared apart.
    if (method === 'CreateContainer') add('containers', container, request.config);
    if (method === 'PullImage')
      add('pulls', String((request.image as { image?: string } | undefined)?.image), {
        image: request.image,
        auth: request.auth,
      });
  }
  return {
    sandboxes: Object.fromEntries([...found.sandboxes].slice(0, ATTEMPTS)),
    containers: Object.fromEntries(found.containers),
    pulls: Object.fromEntries(found.pulls),
  };
}

const attemptOf = (request: PlainMessage): number =>
  (request.config as { metadata?: Metadata } | undefined)?.metadata?.attempt ?? 0;

/** How often each method was called. */
export function countsOf(calls: readonly RecordedCall[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const call of calls) counts[methodOf(call)] = (counts[methodOf(call)] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).toSorted(([, a], [, b]) => b - a));
}
