import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { hollowPorts } from '../../../src/hollow/serve/hollow-ports.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';

const SPEC: PodSpec = {
  containers: [
    { name: 'main', ports: [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP' }] },
    { name: 'other', ports: [{ containerPort: 8080, protocol: 'TCP' }] },
  ],
};
const ports = () => hollowPorts(() => SPEC, 'web', 'hollow-1');

async function get(connection: Duplex): Promise<string> {
  const asked = request({ path: '/any', createConnection: () => connection }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return `${String(response.statusCode)} ${await text(response)}`;
}

test('HTTP answers at each TCP port that a container declares', async () => {
  const forwarder = ports();
  expect(await get(await forwarder.connect(80))).toBe(
    '200 hollow container "main" of web on hollow-1: nothing runs here\n',
  );
  expect(await get(await forwarder.connect(8080))).toContain('"other"');
});

test.each([
  ['that is declared for UDP', 53, SPEC],
  ['that no container declares', 81, SPEC],
  ['of a pod that is gone', 80, undefined],
])('a port %s refuses the connection', async (_, port, spec) => {
  const forwarder = hollowPorts(() => spec, 'web', 'hollow-1');
  await expect(forwarder.connect(port)).rejects.toThrow(
    `dial tcp4 127.0.0.1:${String(port)}: connect: connection refused`,
  );
});

test('all connections end when the client is gone', async () => {
  const forwarder = ports();
  const connection = await forwarder.connect(80);
  const closed = once(connection, 'close');
  forwarder.close();
  await closed;
  expect(connection.destroyed).toBe(true);
});
