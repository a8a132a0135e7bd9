import { StateletError } from '../../types/errors.ts';
import type { Node, Pod } from '../../types/kubernetes.ts';
import { CONFIG_MIRROR_ANNOTATION } from '../pod/pod-kinds.ts';
import { mirrorHash } from './mirror-pod-of.ts';

/**
 * The mirror pod of a static pod as it is created. It belongs to the node, so that it is deleted with the node. The server gives it
 * a UID of its own. Throws if the node or its UID is not known.
 */
export function newMirrorPod(pod: Pod, nodeName: string, node: Node | undefined): Pod {
  const { metadata, spec } = pod;
  const annotations = { ...metadata.annotations, [CONFIG_MIRROR_ANNOTATION]: mirrorHash(pod) };
  const owner = {
    apiVersion: 'v1',
    kind: 'Node',
    name: nodeName,
    uid: uidOfNode(nodeName, node),
    controller: true,
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, annotations, ownerReferences: [owner] },
    spec,
  };
}

function uidOfNode(nodeName: string, node: Node | undefined): string {
  const problem = (text: string) => new StateletError('NotFound', `failed to get node UID: ${text}`);
  if (node === undefined) throw problem(`node "${nodeName}" not found`);
  const { uid } = node.metadata;
  if (uid === undefined || uid === '') throw problem(`UID unset for node ${nodeName}`);
  return uid;
}
