import { type Finding, findingsOf } from './finding.ts';

export interface SandboxImageFacts {
  /** Undefined: the runtime does not say it. */
  readonly image: string | undefined;
  /** Undefined: the runtime does not answer. */
  readonly isPresent: boolean | undefined;
  /** Whether the runtime is containerd, which has `ctr`. */
  readonly isContainerd: boolean;
}

const { ok, warning, unknown } = findingsOf('sandbox-image');

export function sandboxImageFindings({
  image,
  isPresent,
  isContainerd,
}: SandboxImageFacts): readonly Finding[] {
  if (image === undefined) return [unknown('the runtime does not say which image its sandboxes have')];
  if (isPresent === undefined) return [unknown(`${image}; the runtime does not say whether it is there`)];
  if (isPresent) return [ok(image)];
  const pull = isContainerd ? `ctr --namespace k8s.io images pull ${image}` : `crictl pull ${image}`;
  return [warning(`${image} is not there: the first pod waits until it has been pulled`, pull)];
}
