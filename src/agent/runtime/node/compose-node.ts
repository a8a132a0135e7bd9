import type { ContainerAdditions } from '../../policies/cri/container-config.ts';
import { promiseOf } from '../../../system/promises.ts';
import type { KeyValue } from '../../../types/cri.ts';
import { StateletError } from '../../../types/errors.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import {
  type ContainerRequest,
  orPrepareError,
  type PodAdmission,
  type PodDetails,
  type PodNode,
  type PodSearch,
  type PodSubsystem,
  type SandboxAdditions,
} from './pod-node.ts';

/**
 * The node that these subsystems make up. The order of the list is the order in which a pod is prepared; what is set up later may
 * need what was set up before, so that a pod is released and removed in the reverse order. The first subsystem that fails ends the
 * step: what comes after it is left as it is until the step is tried again.
 *
 * ```
 *   admit      first ──► last      (the first rejection counts)
 *   withdraw   all
 *   prepare    first ──► last
 *   sandbox, container   first ──► last
 *   release    first ◄── last
 *   remove     first ◄── last      (`release` where a subsystem has no `remove`)
 * ```
 */
export function composeNode(subsystems: readonly PodSubsystem[], details: PodDetails): PodNode {
  const reversed = subsystems.toReversed();
  return {
    unsupportedFields: (pod) => subsystems.flatMap((subsystem) => subsystem.unsupportedFields?.(pod) ?? []),
    admit: (pod, signal) => admission(subsystems, pod, signal),
    withdraw: (uid) => subsystems.filter((subsystem) => subsystem.withdraw?.(uid) === true).length > 0,
    prepare: (...prepared) => inTurn(subsystems, (subsystem) => subsystem.prepare?.(...prepared)),
    created: (...created) => subsystems.forEach((subsystem) => subsystem.created?.(...created)),
    reused: (...reused) => subsystems.forEach((subsystem) => subsystem.reused?.(...reused)),
    removing: (pod, container) => inTurn(reversed, (subsystem) => subsystem.removing?.(pod, container)),
    release: (uid) => inTurn(reversed, (subsystem) => subsystem.release?.(uid)),
    remove: (pod) =>
      inTurn(reversed, (subsystem) =>
        subsystem.remove ? subsystem.remove(pod) : subsystem.release?.(pod.uid),
      ),
    podsOnDisk: (search) => podsOnDisk(subsystems, search),
    forgetImage: (image) => subsystems.forEach((subsystem) => subsystem.forgetImage?.(image)),
    collectGarbage: () => subsystems.forEach((subsystem) => subsystem.collectGarbage?.()),
    startTime: (uid, now) => details.startTime(uid, now),
    recallContainers: (uid) => details.recallContainers(uid),
    knownContainer: (uid, containerId) => details.knownContainer(uid, containerId),
    rememberContainer: (...known) => details.rememberContainer(...known),
    resizer: details.resizer,
    sandbox: (...request) => details.sandbox(...request),
    image: (...request) => details.image(...request),
    container: (request) => details.container(request),
    pastInstances: (pod, containerName) => details.pastInstances(pod, containerName),
    podIP: (pod, podStatus) => details.podIP(pod, podStatus),
  };
}

/** The first rejection: subsystems after it are not asked. */
function admission(subsystems: readonly PodSubsystem[], pod: Pod, signal: AbortSignal): PodAdmission {
  for (const [index, subsystem] of subsystems.entries()) {
    const answer = subsystem.admit?.(pod, signal);
    if (answer instanceof Promise)
      return answer.then((rejection) => rejection ?? admission(subsystems.slice(index + 1), pod, signal));
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** What the subsystems together add to sandboxes and containers. */
export interface NodeAdditions {
  sandbox(pod: Pod): Promise<SandboxAdditions>;
  /** In the order of the list. `envs`: the variables of the container's own. */
  container(request: ContainerRequest, envs: readonly KeyValue[]): Promise<readonly ContainerAdditions[]>;
}

export function additionsOf(subsystems: readonly PodSubsystem[]): NodeAdditions {
  return {
    sandbox: async (pod) => {
      const all: SandboxAdditions[] = [];
      for (const subsystem of subsystems) all.push((await subsystem.sandbox?.(pod)) ?? {});
      return Object.assign({}, ...all, {
        groups: all.flatMap(({ groups = [] }) => groups),
      }) as SandboxAdditions;
    },
    container: async (request, envs) => {
      const all: ContainerAdditions[] = [];
      let known = envs;
      for (const subsystem of subsystems) {
        if (!subsystem.container) continue;
        const added = await subsystem.container(request, known);
        known = [...(added.envs ?? []), ...known];
        all.push(added);
      }
      return all;
    },
  };
}

async function inTurn(
  subsystems: readonly PodSubsystem[],
  step: (subsystem: PodSubsystem) => Promise<void> | undefined,
): Promise<void> {
  for (const subsystem of subsystems) await step(subsystem);
}

/** One reference for each UID: one with a name goes before one without. */
async function podsOnDisk(
  subsystems: readonly PodSubsystem[],
  search: PodSearch,
): Promise<readonly PodReference[]> {
  const pods = new Map<string, PodReference>();
  for (const subsystem of subsystems) {
    for (const pod of (await subsystem.podsOnDisk?.(search, new Set(pods.keys()))) ?? []) {
      if (search.isKnown(pod.uid)) continue;
      if (pod.name !== '' || !pods.has(pod.uid)) pods.set(pod.uid, pod);
    }
  }
  return [...pods.values()];
}

/** The pod of which a subsystem knows only the UID. */
export function podOfUID(uid: string): PodReference {
  return { uid, name: '', namespace: '' };
}

/** Of a node without DRA drivers: a pod that claims devices of them waits, as without them it must not run. */
export const RESOURCE_CLAIMS: PodSubsystem = {
  name: 'resource claims',
  prepare: (pod) => orPrepareError('FailedPrepareDynamicResources', () => promiseOf(() => refuseClaims(pod))),
};

function refuseClaims({ spec }: Pod): void {
  const names = (spec.resourceClaims ?? []).map(({ name }) => name);
  if (names.length === 0) return;
  const message = `dynamic resource allocation is not supported: spec.resourceClaims has ${names.join(', ')}`;
  throw new StateletError('Unimplemented', message);
}
