import type { PodReference } from '../../types/event-recorder.ts';
import type { PodDetails, PodNode, PodSearch, PodSubsystem } from './pod-node.ts';

/**
 * The node that these subsystems make up. The order of the list is the order in which a pod is prepared; what is set up later may
 * need what was set up before, so that a pod is released and removed in the reverse order. The first subsystem that fails ends the
 * step: what comes after it is left as it is until the step is tried again.
 *
 * ```
 *   prepare    first ──► last
 *   release    first ◄── last
 *   remove     first ◄── last      (`release` where a subsystem has no `remove`)
 * ```
 */
export function composeNode(subsystems: readonly PodSubsystem[], details: PodDetails): PodNode {
  const reversed = subsystems.toReversed();
  return {
    unsupportedFields: (pod) => subsystems.flatMap((subsystem) => subsystem.unsupportedFields?.(pod) ?? []),
    rejection: (pod) => firstAnswer(subsystems, (subsystem) => subsystem.rejection?.(pod)),
    prepare: (pod, signal) => inTurn(subsystems, (subsystem) => subsystem.prepare?.(pod, signal)),
    created: (...created) => subsystems.forEach((subsystem) => subsystem.created?.(...created)),
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
    sandbox: (...request) => details.sandbox(...request),
    image: (...request) => details.image(...request),
    container: (request) => details.container(request),
    pastInstances: (pod, containerName) => details.pastInstances(pod, containerName),
    podIP: (pod, podStatus) => details.podIP(pod, podStatus),
  };
}

function firstAnswer<T>(
  subsystems: readonly PodSubsystem[],
  ask: (subsystem: PodSubsystem) => T | undefined,
): T | undefined {
  for (const subsystem of subsystems) {
    const answer = ask(subsystem);
    if (answer !== undefined) return answer;
  }
  return undefined;
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
