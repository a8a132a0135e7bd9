/** The seccomp profile of a container: which system calls it may make. */
import type { SecurityProfile } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';

export interface SeccompFacts {
  /** Whether containers without a profile get the runtime's default profile instead of none. */
  readonly seccompDefault: boolean;
  /** The folder of the profiles of type Localhost. */
  readonly seccompProfileRoot: string;
}

export const RUNTIME_DEFAULT: SecurityProfile = { profileType: 'RuntimeDefault', localhostRef: '' };
export const UNCONFINED: SecurityProfile = { profileType: 'Unconfined', localhostRef: '' };

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
      throw new StateletError(
        'InvalidArgument',
        'seccompProfile: localhostProfile must be set if the type is Localhost',
      );
    default:
      return UNCONFINED;
  }
}
