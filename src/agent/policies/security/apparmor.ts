/** The AppArmor profile of a container. */
import type { SecurityProfile } from '../../../types/cri.ts';
import { invalid } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod, PodSpec } from '../../../types/kubernetes.ts';

type AppArmorProfile = NonNullable<NonNullable<PodSpec['securityContext']>['appArmorProfile']>;

/** The container's name follows. Deprecated, but manifests still use it. */
const ANNOTATION_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const LOCALHOST_PREFIX = 'localhost/';

/**
 * The container's profile, else that of its annotation, else the pod's; undefined leaves it to the runtime. Throws
 * InvalidArgument for a Localhost profile without a name.
 */
export function appArmorProfile(
  { metadata, spec }: Pod,
  { name, securityContext }: Container | EphemeralContainer,
): SecurityProfile | undefined {
  const profile =
    securityContext?.appArmorProfile ??
    annotated(metadata.annotations?.[ANNOTATION_PREFIX + name]) ??
    spec.securityContext?.appArmorProfile;
  return profile && criProfile(profile);
}

function criProfile({ type, localhostProfile }: AppArmorProfile): SecurityProfile {
  switch (type) {
    case 'RuntimeDefault':
      return RUNTIME_DEFAULT;
    case 'Unconfined':
      return UNCONFINED;
    case 'Localhost':
      if (localhostProfile) return { profileType: 'Localhost', localhostRef: localhostProfile };
      throw invalid('appArmorProfile: localhostProfile must be set if the type is Localhost');
    default:
      throw invalid(`appArmorProfile: there is no type "${type}"`);
  }
}

/** The profile as the annotation spells it: runtimes from before 2023 read a field that holds only this form. */
export function deprecatedAppArmorProfile({ profileType, localhostRef }: SecurityProfile): string {
  switch (profileType) {
    case 'RuntimeDefault':
      return 'runtime/default';
    case 'Unconfined':
      return 'unconfined';
    case 'Localhost':
      return LOCALHOST_PREFIX + localhostRef;
  }
}

function annotated(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  if (!value?.startsWith(LOCALHOST_PREFIX)) return undefined;
  return { type: 'Localhost', localhostProfile: value.slice(LOCALHOST_PREFIX.length) };
}

/**
 * Why a pod that names a profile cannot be admitted to this node: if the kernel does not enforce AppArmor, the pod would run
 * without its profile. `enabled`: whether the kernel enforces AppArmor.
 */
export function appArmorRejection(
  pod: Pod,
  enabled: boolean,
): { reason: 'AppArmor'; message: string } | undefined {
  if (enabled || !requiresAppArmor(pod)) return undefined;
  return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
}

function requiresAppArmor({ metadata, spec }: Pod): boolean {
  const fields = [spec, ...spec.containers, ...(spec.initContainers ?? [])];
  return (
    fields.some(({ securityContext }) => confines(securityContext?.appArmorProfile?.type, 'Unconfined')) ||
    Object.entries(metadata.annotations ?? {}).some(
      ([key, value]) => key.startsWith(ANNOTATION_PREFIX) && confines(value, 'unconfined'),
    )
  );
}

function confines(profile: string | undefined, unconfined: string): boolean {
  return profile !== undefined && profile !== unconfined;
}

export interface SeccompFacts {
  /** Whether containers without a profile get the runtime's default profile instead of none. */
  readonly seccompDefault: boolean;
  /** The folder of the profiles of type Localhost. */
  readonly seccompProfileRoot: string;
}

export const RUNTIME_DEFAULT: SecurityProfile = { profileType: 'RuntimeDefault', localhostRef: '' };

const UNCONFINED: SecurityProfile = { profileType: 'Unconfined', localhostRef: '' };

/** The container's profile, else the pod's, else the node's default. Throws InvalidArgument for Localhost without a name. */
export function seccompProfile(
  pod: Pod,
  container: Container | EphemeralContainer,
  { seccompDefault, seccompProfileRoot }: SeccompFacts,
): SecurityProfile {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  switch (profile?.type ?? (seccompDefault ? 'RuntimeDefault' : 'Unconfined')) {
    case 'RuntimeDefault':
      return RUNTIME_DEFAULT;
    case 'Localhost':
      if (profile?.localhostProfile) {
        const localhostRef = `${seccompProfileRoot}/${profile.localhostProfile}`;
        return { profileType: 'Localhost', localhostRef };
      }
      throw invalid('seccompProfile: localhostProfile must be set if the type is Localhost');
    default:
      return UNCONFINED;
  }
}
