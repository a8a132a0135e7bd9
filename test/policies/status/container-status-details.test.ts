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
  test('has the user that the runtime reports, for containers of all kinds', () => {
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

  test('has no user if the runtime reports none', () => {
    expect(containerOf(statusOf({}), 'app')).not.toHaveProperty('user');
  });

  test('has the resources of the spec, and as allocated ones its requests', () => {
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '64Mi' } };
    expect(containerOf(statusOf({ resources }), 'app')).toMatchObject({
      resources,
      allocatedResources: { cpu: '100m' },
    });
    const plain = containerOf(statusOf({}), 'app');
    expect(plain?.resources).toEqual({});
    expect(plain).not.toHaveProperty('allocatedResources');
  });

  test('has no resources before the container has been created, but always its mounts', () => {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const pod = podOf({ containers: [{ name: 'app', image: 'app:1', resources: {}, volumeMounts }] });
    const status = containerOf(generateAPIPodStatus(factsOf(pod, {})), 'app');
    expect(status).not.toHaveProperty('resources');
    expect(status?.volumeMounts).toEqual([{ name: 'v', mountPath: '/v' }]);
  });

  test('says of read-only mounts whether mounts below them are read-only too', () => {
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
