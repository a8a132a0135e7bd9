/** Takes the cgroup driver that the runtime reports, and finds a runtime whose driver is not the agent's. */
import { driverProblemIn, impossibleDriver, wrongDriver } from '../../policies/cri/cgroup-driver-mismatch.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { PodSandbox, RuntimeCondition, RuntimeStatus, RuntimeCgroupDriver } from '../../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

/** The runtime, which is not ready while it makes cgroups in another way than the agent. */
export function withCgroupDriver(
  { logger }: AgentContext,
  runtime: RuntimeService,
  cgroups: PodCgroups,
): RuntimeService {
  /** The runtime may have been started anew, with another driver, when it has not answered. */
  let isKnown = false;

  const problemOf = async ({
    name,
    isReported,
  }: RuntimeCgroupDriver): Promise<RuntimeCondition | undefined> => {
    if (name === cgroups.driver) return undefined;
    if (!isReported) return wrongDriver(name, cgroups.driver);
    try {
      await cgroups.useDriver(name);
      logger.info({}, `The cgroup driver is ${name}, as the container runtime reports`);
      return undefined;
    } catch (error) {
      if (errorKind(error) !== 'FailedPrecondition') throw error;
      return impossibleDriver(errorMessage(error));
    }
  };

  const status = async (options?: Parameters<RuntimeService['status']>[0]): Promise<RuntimeStatus> => {
    try {
      const answer = await runtime.status({ ...options, asksCgroupDriver: !isKnown });
      const problem = answer.cgroupDriver && (await problemOf(answer.cgroupDriver));
      isKnown = problem === undefined;
      return problem ? { ...answer, conditions: [problem, ...answer.conditions] } : answer;
    } catch (error) {
      isKnown = false;
      throw error;
    }
  };

  /** A pod in cgroups of the other driver is started anew, as where its sandbox has ended. */
  const seen = <S extends PodSandbox>(sandbox: S): S =>
    cgroups.isElsewhere(sandbox.metadata.uid, sandbox.id)
      ? { ...sandbox, state: 'SANDBOX_NOTREADY' }
      : sandbox;

  return {
    ...runtime,
    status,
    listPodSandbox: async (...request) => (await runtime.listPodSandbox(...request)).map(seen),
    podSandboxStatus: async (...request) => seen(await runtime.podSandboxStatus(...request)),
    runPodSandbox: async (...request) => {
      try {
        return await runtime.runPodSandbox(...request);
      } catch (error) {
        const sentence = driverProblemIn(errorMessage(error));
        if (sentence === undefined) throw error;
        throw new StateletError(errorKind(error), `${sentence}; ${errorMessage(error)}`, { cause: error });
      }
    },
  };
}
