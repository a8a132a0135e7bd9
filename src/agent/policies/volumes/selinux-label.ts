/** The SELinux label with which a CSI driver mounts a volume, so that its files need not be labelled one by one. The rules are those of the kubelet. */
import { invalid, StateletError } from '../../../types/errors.ts';
import type { Container, CSIDriver, Pod } from '../../../types/kubernetes.ts';
import type { CsiSource } from './csi-source.ts';
import { podContainers } from './volume-source.ts';

type SELinuxOptions = NonNullable<NonNullable<Container['securityContext']>['seLinuxOptions']>;

/** Other characters could begin another mount option. */
const LABEL = /^[\w.:,-]+$/;

export interface LabelledVolume {
  readonly pod: Pod;
  /** The name of the volume in the pod. */
  readonly volume: string;
  readonly source: CsiSource;
  readonly object: CSIDriver | undefined;
  /** The label that files of containers have on this machine; undefined where SELinux is off. */
  readonly filesLabel: string | undefined;
}

/**
 * Undefined if the volume is mounted without a label: then the runtime labels its files. Throws if containers of the pod would
 * need different labels. Without a level in the pod's spec the runtime chooses one that the agent cannot know.
 */
export function mountLabel({ pod, volume, source, object, filesLabel }: LabelledVolume): string | undefined {
  if (filesLabel === undefined || object?.spec.seLinuxMount !== true || !isOfOnePod(source)) return undefined;
  const labels = new Set(
    podContainers(pod.spec)
      .filter(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === volume))
      .flatMap(({ securityContext }) => {
        const options = securityContext?.seLinuxOptions ?? pod.spec.securityContext?.seLinuxOptions;
        return options === undefined ? [] : [fileLabel(options, filesLabel)];
      }),
  );
  const [label, ...more] = labels;
  if (more.length > 0) {
    const message = `multiple SELinux labels found: ${[...labels].map((each) => each ?? '').join(',')}`;
    throw new StateletError('FailedPrecondition', message);
  }
  return pod.spec.securityContext?.seLinuxChangePolicy === 'Recursive' ? undefined : label;
}

/** The volume with that label among its mount options. */
export function withLabel(source: CsiSource, label: string | undefined): CsiSource {
  if (label === undefined) return source;
  return { ...source, mountOptions: [...source.mountOptions, `context="${label}"`] };
}

/** As with the kubelet without the feature gate SELinuxMount, other volumes are never mounted with a label. */
function isOfOnePod({ accessModes, isEphemeral, blockName }: CsiSource): boolean {
  return (
    !isEphemeral &&
    blockName === undefined &&
    accessModes.length === 1 &&
    accessModes[0] === 'ReadWriteOncePod'
  );
}

/** Role and type are those of processes: files keep their own. */
function fileLabel({ user = '', level = '' }: SELinuxOptions, filesLabel: string): string | undefined {
  if (level === '') return undefined;
  const [ownUser, role, type] = filesLabel.split(':');
  const label = [user === '' ? ownUser : user, role, type, level].join(':');
  if (!LABEL.test(label)) throw invalid('the SELinux label of the pod has characters that no label has');
  return label;
}
