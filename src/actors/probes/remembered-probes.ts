import { probedContainers } from '../../policies/status/remembered-containers.ts';
import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';

/** Without an API server, which has the status of its pods, results of probes are remembered on the node, when they change. */
export function rememberProbes(
  node: Pick<PodNode, 'knownContainer' | 'rememberContainer'>,
  pod: Pod,
  status: PodStatus | undefined,
): void {
  if (status === undefined || !isManifestPod(pod)) return;
  const { uid } = pod.metadata;
  for (const { containerId, known } of probedContainers(pod, status)) {
    const { started, ready } = node.knownContainer(uid, containerId) ?? {};
    if (known.started !== started || known.ready !== ready)
      void node.rememberContainer(uid, containerId, known).catch(() => undefined);
  }
}
