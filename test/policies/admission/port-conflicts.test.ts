import { expect, test } from '@jest/globals';
import { areHostPortsFree } from '../../../src/policies/admission/port-conflicts.ts';
import { heldBy } from '../../../src/policies/admission/held-resources.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { requestingPod } from '../../support/admission.ts';

type Port = NonNullable<Container['ports']>[number];

const container = (...ports: Partial<Port>[]): Container => ({
  name: 'c',
  ports: ports.map((port) => ({ containerPort: 80, ...port })),
});
const withPorts = (...ports: Partial<Port>[]): Pod =>
  requestingPod('p', { containers: [container(...ports)] });
const free = (wanted: Partial<Port>, used: Partial<Port>) =>
  areHostPortsFree(withPorts(wanted), heldBy([withPorts(used)]));

test('a port of the node belongs to one pod only', () => {
  expect(free({ hostPort: 8080 }, { hostPort: 8080 })).toBe(false);
  expect(free({ hostPort: 8080 }, { hostPort: 8081 })).toBe(true);
  expect(free({ containerPort: 8080 }, { hostPort: 8080 })).toBe(true);
  expect(free({ hostPort: 8080 }, { containerPort: 8080 })).toBe(true);
});

test('each protocol has its own ports; without a protocol it is TCP', () => {
  expect(free({ hostPort: 53, protocol: 'UDP' }, { hostPort: 53 })).toBe(true);
  expect(free({ hostPort: 53, protocol: 'TCP' }, { hostPort: 53 })).toBe(false);
});

test('each address has its own ports, but 0.0.0.0 conflicts with every address', () => {
  const [one, other, all] = ['127.0.0.1', '10.0.0.1', '0.0.0.0'].map((hostIP) => ({ hostPort: 80, hostIP }));
  expect(free(one!, other!)).toBe(true);
  expect(free(one!, one!)).toBe(false);
  expect(free(one!, all!)).toBe(false);
  expect(free(all!, other!)).toBe(false);
  expect(free({ hostPort: 80 }, other!)).toBe(false);
});

test('ports of sidecars count, those of init containers do not', () => {
  const initContainer = (restartPolicy?: string): Pod =>
    requestingPod('p', {
      initContainers: [{ ...container({ hostPort: 80 }), ...(restartPolicy && { restartPolicy }) }],
    });
  const wanted = withPorts({ hostPort: 80 });
  expect(areHostPortsFree(wanted, heldBy([initContainer('Always')]))).toBe(false);
  expect(areHostPortsFree(wanted, heldBy([initContainer()]))).toBe(true);
});

test('a pod on the network of the node holds the ports that it names', () => {
  const onNode = requestingPod('p', { hostNetwork: true, containers: [container({ hostPort: 80 })] });
  expect(areHostPortsFree(onNode, heldBy([withPorts({ hostPort: 80 })]))).toBe(false);
  expect(areHostPortsFree(withPorts({ hostPort: 80 }), heldBy([onNode]))).toBe(false);
});
