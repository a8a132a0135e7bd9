/** The names, labels, annotations and log paths of a pod, as crictl shows them and the kubelet sets them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { SERVING } from '../../../support/cri-daemon.ts';
import { NODE_NAME } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';

describeOnDaemon('the identity of a pod in the runtime', ({ bed, daemon }) => {
  const ofPod = (uid: string) => ({ labelSelector: { 'io.kubernetes.pod.uid': uid } });

  test('sandbox and container have the metadata, labels and annotations of the kubelet', async () => {
    const preStop = { exec: { command: ['true'] } };
    bed.apply(
      'named',
      {
        containers: [
          bed.server({
            ports: [{ name: 'web', containerPort: 8080, protocol: 'TCP' }],
            lifecycle: { preStop },
            terminationMessagePath: '/tmp/last-words',
            terminationMessagePolicy: 'FallbackToLogsOnError',
          }),
        ],
        terminationGracePeriodSeconds: 7,
      },
      {
        namespace: 'team',
        // A pod cannot forge the labels that identify it.
        labels: { app: 'shop', 'io.kubernetes.pod.name': 'somebody-else' },
        annotations: { note: 'kept' },
      },
    );
    const pod = await daemon.running('named');
    const { uid } = pod.metadata;
    const name = `named-${NODE_NAME}`;
    const ofAll = {
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': 'team',
      'io.kubernetes.pod.uid': uid,
    };

    const [sandbox] = await bed.runtime.listPodSandbox(ofPod(uid));
    expect(sandbox).toMatchObject({
      metadata: { name, namespace: 'team', uid, attempt: 0 },
      state: 'SANDBOX_READY',
    });
    expect(sandbox?.labels).toEqual({ app: 'shop', ...ofAll });
    expect(sandbox?.annotations).toMatchObject({
      note: 'kept',
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.hash': expect.any(String),
      'kubernetes.io/config.seen': expect.any(String),
    });

    const [container] = await bed.runtime.listContainers(ofPod(uid));
    expect(container).toMatchObject({
      podSandboxId: sandbox?.id,
      metadata: { name: 'main', attempt: 0 },
      state: 'CONTAINER_RUNNING',
    });
    expect(container?.labels).toEqual({ ...ofAll, 'io.kubernetes.container.name': 'main' });
    const { 'io.kubernetes.container.ports': ports = '[]', ...annotations } = container?.annotations ?? {};
    expect(annotations).toEqual({
      'io.kubernetes.container.hash': expect.stringMatching(/^[0-9a-f]{1,8}$/),
      'io.kubernetes.container.restartCount': '0',
      'io.kubernetes.container.terminationMessagePath': '/tmp/last-words',
      'statelet.dev/resources': '{"container":{}}',
      'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError',
      'io.kubernetes.container.preStopHandler': JSON.stringify(preStop),
      'io.kubernetes.pod.terminationGracePeriod': '7',
    });
    expect(JSON.parse(ports)).toMatchObject([{ name: 'web', containerPort: 8080, protocol: 'TCP' }]);

    const status = await bed.runtime.containerStatus(container?.id ?? '');
    const log = join(bed.podLogsDir, `team_${name}_${uid}`, 'main', '0.log');
    expect(status).toMatchObject({ logPath: log, image: bed.containerd.image });
    expect(existsSync(log)).toBe(true);
    expect(pod.status?.containerStatuses?.[0]).toMatchObject({
      image: bed.containerd.image,
      containerID: `containerd://${container?.id}`,
      restartCount: 0,
    });
  });

  test('the next instance of a container has the next attempt, in its name, its annotation and its log', async () => {
    // Only the first instance ends.
    const script = `echo "one life"; mkdir /once/ended 2>/dev/null && exit 3; ${SERVING}`;
    const volumeMounts = [{ name: 'once', mountPath: '/once' }];
    bed.apply('again', {
      volumes: [{ name: 'once', emptyDir: {} }],
      containers: [bed.shell(script, { volumeMounts })],
    });
    const pod = await daemon.until('again', 'restarted', ({ status }) => {
      const [one] = status?.containerStatuses ?? [];
      return one?.restartCount === 1;
    });
    const { uid } = pod.metadata;
    const containers = await waitFor(
      async () => {
        const all = await bed.runtime.listContainers(ofPod(uid));
        return all.length === 2 && all;
      },
      { what: 'both instances' },
    );
    const attempts = containers.map(({ metadata, annotations }) => [
      metadata.attempt,
      annotations['io.kubernetes.container.restartCount'],
    ]);
    expect(attempts.toSorted()).toEqual([
      [0, '0'],
      [1, '1'],
    ]);
    // The sandbox is the same.
    expect(await bed.runtime.listPodSandbox(ofPod(uid))).toHaveLength(1);
    const logs = join(bed.podLogs(pod.metadata), 'main');
    for (const file of ['0.log', '1.log']) {
      const lines = await waitFor(() => readFileSync(join(logs, file), 'utf8') || undefined, { what: file });
      expect(lines).toMatch(/^\S+ stdout F one life\n$/);
    }
  });
});
