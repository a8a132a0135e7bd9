/** Which ConfigMaps and Secrets a node watches: those that its pods refer to, each once. */
import type { Pod } from '../../../types/kubernetes.ts';
import { referenceKey, referencesOf } from '../../api/pod-references.ts';

const CONTENT = /^(?:configmaps|secrets)\//;

/** The first watch that should not be, if any. `pods`: those on the node. */
export function needlessWatch(watched: readonly string[], pods: readonly Pod[]): string | undefined {
  const contents = watched.filter((subject) => CONTENT.test(subject));
  const twice = contents.find((subject, index) => contents.indexOf(subject) !== index);
  if (twice !== undefined) return `${twice} is watched twice`;
  const referred = new Set(pods.flatMap((pod) => referencesOf(pod).map(referenceKey)));
  const needless = contents.find((subject) => !referred.has(subject));
  return needless === undefined ? undefined : `${needless} is watched, and no pod refers to it`;
}
