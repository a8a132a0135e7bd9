import { describe, expect, test } from '@jest/globals';
import { generateAPIPodStatus } from '../../../src/policies/status/pod-status.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { containerOf, factsOf, instance, podOf, SANDBOX } from '../../support/pod-status-facts.ts';

const USER = { uid: 1000, gid: 3000, supplementalGroups: [5, 6, 3000] };

function statusOf(container: Partial<Container>, more: object = {}, spec: Partial<Pod['spec']> = {}) {
  const pod = podOf({ containers: [{ name: 'app', image: 'app:1', ...container }], ...spec });
  const containers = [instance('app', 'running', more), instance('first', 'exited', more)];
  return generateAPIPodStatus(factsOf(pod, { sandboxes: [SANDBOX], containers }));
}

describe('the status of a container', () => {
  test('tells the user that the runtime has started it as, of containers of all kinds', () => {
    const others = {
      initContainers: [{ name: 'first', image: 'i' }],
      ephemeralContainers: [{ name: 'debug', image: 'd' }],
    };
    const pod = podOf(others);
    const containers = [
      instance('app', 'running', { user: USER }),
      instance('first', 'exited', { user: USER }),
      instance('debug', 'running', { user: USER }),
    ];
    const status = generateAPIPodStatus(factsOf(pod, { sandboxes: [SANDBOX], containers }));
    const all = [
      ...(status.containerStatuses ?? []),
      ...(status.initContainerStatuses ?? []),
      ...(status.ephemeralContainerStatuses ?? []),
    ];
    expect(all.map(({ name, user }) => [name, user])).toEqual([
      ['app', { linux: USER }],
      ['first', { linux: USER }],
      ['debug', { linux: USER }],
    ]);
  });

  test('tells no user where the runtime does not', () => {
    expect(containerOf(statusOf({}), 'app')).not.toHaveProperty('user');
  });

  test('tells the resources that it has, and those that were set apart for it', () => {
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } };
    expect(containerOf(statusOf({ resources }), 'app')).toMatchObject({
      resources,
      allocatedResources: { cpu: '100m' },
    });
    const plain = containerOf(statusOf({}), 'app');
    expect(plain?.resources).toEqual({});
    expect(plain).not.toHaveProperty('allocatedResources');
  });

  test('tells no resources before it has been created, and its mounts from the start', () => {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const pod = podOf({ containers: [{ name: 'app', image: 'app:1', resources: {}, volumeMounts }] });
    const status = containerOf(generateAPIPodStatus(factsOf(pod, {})), 'app');
    expect(status).not.toHaveProperty('resources');
    expect(status?.volumeMounts).toEqual([{ name: 'v', mountPath: '/v' }]);
  });

  test('tells of mounts that are read-only whether what is mounted below is so, too', () => {
    const volumeMounts = [
      { name: 'a', mountPath: '/a', subPath: 'x', mountPropagation: 'None' },
      { name: 'b', mountPath: '/b', readOnly: true, recursiveReadOnly: 'IfPossible' },
      { name: 'c', mountPath: 'c', readOnly: true, recursiveReadOnly: 'Enabled' },
    ];
    const status = containerOf(statusOf({ volumeMounts }, { recursiveReadOnlyMounts: ['/c'] }), 'app');
    expect(status?.volumeMounts).toEqual([
      { name: 'a', mountPath: '/a' },
      { name: 'b', mountPath: '/b', readOnly: true, recursiveReadOnly: 'Disabled' },
      { name: 'c', mountPath: 'c', readOnly: true, recursiveReadOnly: 'Enabled' },
    ]);
  });
});
