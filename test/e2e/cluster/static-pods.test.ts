/** Static pods beside an API server, which shows them by their mirror pods. */
import { expect, test } from '@jest/globals';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { containerStatus } from '../../support/daemon.ts';

describeOnCluster('a static pod with a UID of its own', (cluster) => {
  test('gets another mirror pod when its manifest changes: it shows the new spec, and the status of the same pod', async () => {
    const { bed } = cluster;
    const apply = (value: string) =>
      bed.apply(
        'own',
        { containers: [bed.server({ env: [{ name: 'VERSION', value }] })] },
        { uid: 'uid-of-its-own', labels: { version: value } },
      );
    const mirrorOf = (version: string) =>
      cluster.podIs(
        `ready in version ${version}`,
        'own-node-a',
        ({ metadata, status }) =>
          metadata.labels?.version === version &&
          status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true,
      );
    await cluster.daemon.end('SIGKILL');
    apply('1');
    await cluster.startDaemon('--pod-manifest-path', bed.manifestDir);
    const first = await mirrorOf('1');
    apply('2');
    const second = await mirrorOf('2');

    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(second.spec.containers[0]?.env).toEqual([{ name: 'VERSION', value: '2' }]);
    const config = (pod: typeof first) => pod.metadata.annotations?.['kubernetes.io/config.mirror'];
    expect([config(first), config(second)]).toEqual(['uid-of-its-own', 'uid-of-its-own']);
    expect(containerStatus(second)?.containerID).toBe(containerStatus(first)?.containerID);

    // Nothing has changed for the next agent.
    await cluster.daemon.end('SIGKILL');
    await cluster.startDaemon('--pod-manifest-path', bed.manifestDir);
    await cluster.daemon.inState('own', 'Syncing.Settled');
    expect((await mirrorOf('2')).metadata.uid).toBe(second.metadata.uid);
    bed.withdraw('own');
    await cluster.podIsGone('own-node-a');
  });
});
