import type { RuntimeCondition } from '../../../types/cri.ts';
import { errorKind } from '../../../types/errors.ts';
import type { CallOptions, RuntimeService } from '../../service/runtime-service.ts';
import type { CallContext } from './call-context.ts';
import type { CgroupDriver, WireRuntimeCondition } from '../messages/image-messages.ts';
import { RUNTIME_CONFIG, STATUS } from '../messages/methods.ts';

/** The runtime's status. A runtime with another cgroup driver than Statelet's is not ready. */
export function runtimeStatus(context: CallContext): RuntimeService['status'] {
  let isDriverFine = false;

  return async (options) => {
    const { status, handlers, features } = await context.call(STATUS, {}, options);
    isDriverFine ||= (await cgroupDriver(context, options)) !== 'SYSTEMD';
    const conditions = (status?.conditions ?? []).filter(isRequired);
    return {
      conditions: isDriverFine ? conditions : [WRONG_DRIVER, ...conditions],
      handlers,
      ...(features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy }),
    };
  };
}

const WRONG_DRIVER: RuntimeCondition = {
  type: 'RuntimeReady',
  status: false,
  reason: 'CgroupDriverNotSupported',
  message:
    'the container runtime uses the systemd cgroup driver, and statelet makes cgroups itself: configure the runtime for ' +
    'cgroupfs (containerd: SystemdCgroup = false; CRI-O: cgroup_manager = "cgroupfs") and restart it',
};

/** Undefined if the runtime does not tell its driver: before containerd 2.0 and CRI-O 1.28. */
async function cgroupDriver(
  context: CallContext,
  options: CallOptions | undefined,
): Promise<CgroupDriver | undefined> {
  try {
    return (await context.call(RUNTIME_CONFIG, {}, options)).linux?.cgroupDriver;
  } catch (error) {
    if (errorKind(error) === 'Unimplemented') return undefined;
    throw error;
  }
}

/** Runtimes may add other conditions; these say nothing about whether pods can run. */
function isRequired(condition: WireRuntimeCondition): condition is RuntimeCondition {
  return condition.type === 'RuntimeReady' || condition.type === 'NetworkReady';
}
