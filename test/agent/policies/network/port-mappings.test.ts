import { expect, test } from '@jest/globals';
import { hostPorts, portMappings } from '../../../../src/agent/policies/network/port-mappings.ts';

const SPEC = {
  containers: [
    { name: 'app', ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 90 }] },
    { name: 'dns', ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '10.0.0.1' }] },
  ],
  initContainers: [
    { name: 'setup', ports: [{ containerPort: 1, hostPort: 1 }] },
    { name: 'proxy', restartPolicy: 'Always', ports: [{ containerPort: 2, hostPort: 2 }] },
  ],
};

test('ports of the node are those of regular containers and sidecars that name one', () => {
  expect(hostPorts(SPEC).map(({ hostPort }) => hostPort)).toEqual([8080, 53, 2]);
});

test('the mappings for the runtime are all ports of the regular containers, and no others', () => {
  expect(portMappings(SPEC)).toEqual([
    { protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' },
    { protocol: 'TCP', containerPort: 90, hostPort: 0, hostIp: '' },
    { protocol: 'UDP', containerPort: 53, hostPort: 53, hostIp: '10.0.0.1' },
  ]);
});
