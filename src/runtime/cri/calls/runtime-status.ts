import type { RuntimeCondition, ToldCgroupDriver } from '../../../types/cri.ts';
import { errorKind } from '../../../types/errors.ts';
import { cgroupDriverIn } from '../../../policies/cri/cgroup-driver-mismatch.ts';
import type { CallOptions, RuntimeService } from '../../service/runtime-service.ts';
import type { CallContext } from './call-context.ts';
import type { WireRuntimeCondition } from '../messages/image-messages.ts';
import { RUNTIME_CONFIG, STATUS } from '../messages/methods.ts';

/** The runtime's status, and its cgroup driver if that is asked for. */
export function runtimeStatus(context: CallContext): RuntimeService['status'] {
  return async ({ asksCgroupDriver = false, ...options } = {}) => {
    const { status, handlers, features } = await context.call(STATUS, {}, options);
    const driver = asksCgroupDriver ? await cgroupDriver(context, options) : undefined;
    return {
      ...(driver && { cgroupDriver: driver }),
      conditions: (status?.conditions ?? []).filter(isRequired),
      handlers,
      ...(features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy }),
    };
  };
}

/** Undefined where it cannot be known. containerd tells it since 2.0, CRI-O since 1.28. */
async function cgroupDriver(
  context: CallContext,
  options: CallOptions,
): Promise<ToldCgroupDriver | undefined> {
  try {
    const { linux } = await context.call(RUNTIME_CONFIG, {}, options);
    return linux && { name: linux.cgroupDriver === 'SYSTEMD' ? 'systemd' : 'cgroupfs', isTold: true };
  } catch (error) {
    if (errorKind(error) !== 'Unimplemented') throw error;
  }
  const { info } = await context.call(STATUS, { verbose: true }, options);
  const name = cgroupDriverIn(info?.config ?? '');
  return name && { name, isTold: false };
}

/** Runtimes may add other conditions; these say nothing about whether pods can run. */
function isRequired(condition: WireRuntimeCondition): condition is RuntimeCondition {
  return condition.type === 'RuntimeReady' || condition.type === 'NetworkReady';
}
