/** The messages of volumes that cannot be mounted, as the kubelet's events have them. */
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';

/** A problem whose message names the volume and what failed: nothing has to be added to it. */
export class MountProblem extends StateletError {
  constructor(message: string, cause: unknown) {
    super(errorKind(cause), message, { cause });
  }
}

/** A step of mounting has failed. */
export function failedStep(step: string, volumeName: string, cause: unknown): MountProblem {
  return new MountProblem(`${step} failed for volume "${volumeName}" : ${errorMessage(cause)}`, cause);
}

/** It is not known yet what is to be mounted. `volume`: its name in the pod. */
export function unprocessed(volume: string, cause: unknown): MountProblem {
  const lists = `unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]`;
  return new MountProblem(`Unable to attach or mount volumes: ${lists}: ${errorMessage(cause)}`, cause);
}

/** The message of the event about a volume that cannot be set up. */
export function mountFailure({ name }: { readonly name: string }, error: unknown): string {
  return error instanceof MountProblem ? error.message : failedStep('MountVolume.SetUp', name, error).message;
}
