import { expect, test } from '@jest/globals';
import { resolveConfig, type RunFlags, thisHost } from '../../src/config/config.ts';
import { opensPorts, securePort } from '../../src/config/node-ports.ts';

const configOf = (flags: RunFlags, file: object = {}) => resolveConfig(flags, file, thisHost());

test('without a cluster no port is opened unless one is asked for', () => {
  const config = configOf({});
  expect([securePort(config), opensPorts(config)]).toEqual([undefined, false]);
  const asked = configOf({}, { port: 10_999 });
  expect([securePort(asked), opensPorts(asked)]).toEqual([10_999, true]);
  const readOnly = configOf({}, { readOnlyPort: 10_255 });
  expect([securePort(readOnly), opensPorts(readOnly)]).toEqual([undefined, true]);
});

test("a node of a cluster opens the kubelet's port, unless the server is off", () => {
  const config = configOf({ kubeconfig: '/none' });
  expect([securePort(config), opensPorts(config)]).toEqual([10_250, true]);
  expect(opensPorts(configOf({ kubeconfig: '/none' }, { enableServer: false }))).toBe(false);
});
