/**
 * The pods of a pass as the first field of a request, written once for all plugins and all their methods. A pod that has not changed since the
 * last pass is the same object, and is not written again.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ActivePods } from '../../types/eviction-plugin.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { podMessage } from '../protocol/pod-message.ts';

const ACTIVE_PODS = 1;

const ofPods = new WeakMap<Pod, Uint8Array>();
const ofPasses = new WeakMap<ActivePods, Uint8Array>();

export function activePodsBytes(activePods: ActivePods): Uint8Array {
  const known = ofPasses.get(activePods);
  if (known) return known;
  const bytes = Buffer.concat(activePods.pods.map(podBytes));
  ofPasses.set(activePods, bytes);
  return bytes;
}

function podBytes(pod: Pod): Uint8Array {
  const known = ofPods.get(pod);
  if (known) return known;
  const writer = new BinaryWriter();
  writer.tag(ACTIVE_PODS, WireType.LengthDelimited);
  podMessage.write(writer, pod);
  const bytes = writer.finish();
  ofPods.set(pod, bytes);
  return bytes;
}
