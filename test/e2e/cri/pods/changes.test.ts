/** Changes of pods in place. Only pods of an API source have them, so these tests run an agent without the daemon. */
import { expect, test } from '@jest/globals';
import { resolveNodeSettings } from '../../../../src/agent/config/load-node-settings.ts';
import { openCriNode } from '../../../../src/agent/runtime/node/open-cri-node.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testNode } from '../../../support/admission.ts';
import { startAgent } from '../../../support/agent.ts';
import { BUSYBOX_USER_ID } from '../../../support/containerd/images.ts';
import { SERVE } from '../../../support/cri-daemon.ts';
import { describeOnBed } from '../../../support/cri-suite.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';

const EXEC_SECONDS = PATIENCE_MS / 1000;
const idIn = (containerID = ''): string => containerID.split('://')[1] ?? '';

describeOnBed('a pod that is changed in place', (bed) => {
  test('a container with a new image is replaced, and an ephemeral container joins the PID namespace of its target', async () => {
    const { image, endpoint, cgroupRoot } = bed.containerd;
    const agent = await startAgent({
      openNode: (context, places) =>
        openCriNode(context, {
          ...places,
          endpoint,
          nodeName: 'node-b',
          facts: testNode(),
          reservations: { systemReserved: {}, kubeReserved: {}, evictionHard: {} },
          settings: resolveNodeSettings({ flags: {}, file: { cgroupRoot }, fileName: 'test' }),
        }),
    });
    const pod: Pod = {
      metadata: { name: 'changing', namespace: 'default', uid: 'changing-1' },
      spec: {
        hostNetwork: true,
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 5,
        containers: ['main', 'other'].map((name) => ({
          name,
          image,
          imagePullPolicy: 'IfNotPresent',
          command: SERVE,
        })),
      },
    };
    const statusOf = (name: string) => {
      const { containerStatuses = [], ephemeralContainerStatuses = [] } =
        agent.statusManager.get('changing-1') ?? {};
      return [...containerStatuses, ...ephemeralContainerStatuses].find((status) => status.name === name);
    };
    const runs = (name: string, restartCount: number) =>
      waitFor(
        () => {
          const status = statusOf(name);
          return status?.state?.running !== undefined && status.restartCount === restartCount && status;
        },
        { what: `${name} to run with ${String(restartCount)} restarts` },
      );
    try {
      agent.ready();
      agent.add(pod);
      await runs('main', 0);
      const other = await runs('other', 0);

      const [first, second] = pod.spec.containers;
      if (!first || !second) throw new Error('the pod has two containers');
      const changed = {
        ...pod,
        spec: { ...pod.spec, containers: [{ ...first, image: BUSYBOX_USER_ID }, second] },
      };
      agent.update(changed);
      await runs('main', 1);
      expect(agent.events).toContain('changing Killing');
      expect(statusOf('other')?.containerID).toBe(other.containerID);

      const debug = {
        name: 'debug',
        image,
        imagePullPolicy: 'IfNotPresent',
        targetContainerName: 'other',
        command: ['sh', '-c', 'cat /proc/1/environ | tr "\\0" "\\n" | grep -c HOSTNAME; sleep 1000'],
      };
      agent.update({ ...changed, spec: { ...changed.spec, ephemeralContainers: [debug] } });
      const { containerID } = await runs('debug', 0);
      const id = idIn(containerID);
      const namespace = async (of: string) => {
        const { stdout } = await bed.runtime.execSync(of, ['readlink', '/proc/self/ns/pid'], EXEC_SECONDS);
        return String(stdout);
      };
      expect(await namespace(id)).toBe(await namespace(idIn(other.containerID)));
      // The ephemeral container sees the processes of its target, and is never restarted.
      const { stdout } = await bed.runtime.execSync(id, ['ps'], EXEC_SECONDS);
      expect(String(stdout)).toContain('trap "exit 0" TERM');
      await bed.runtime.stopContainer(id, 0);
      await waitFor(() => statusOf('debug')?.state?.terminated !== undefined, {
        what: 'debug to have ended',
      });
      expect(statusOf('debug')?.restartCount).toBe(0);
      expect(statusOf('other')?.containerID).toBe(other.containerID);
    } finally {
      await agent.cleanUp();
    }
  });
});
