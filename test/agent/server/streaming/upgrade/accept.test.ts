import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { RequestError } from '../../../../../src/agent/server/routes/route.ts';
import {
  acceptWebSocket,
  webSocketProtocol,
} from '../../../../../src/agent/server/streaming/upgrade/accept.ts';

let server: Server;
beforeEach(async () => {
  server = createServer();
  server.on('upgrade', (raw, socket, head) => {
    try {
      const protocol = webSocketProtocol(raw, ['']);
      void acceptWebSocket({ raw, socket, head }, { protocol }).then((accepted) => accepted?.terminate());
    } catch (error) {
      socket.end(`HTTP/1.1 ${(error as RequestError).status} Refused\r\n\r\n`);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => void server.close());

test.each([
  [['13'], 101],
  [['13', '13'], 101],
  [['13', '8'], 101],
  [['8', '13'], 400],
  [['13, 8'], 400],
  [[], 400],
])('a WebSocket with the versions %j gets %i: the first one counts', async (versions, status) => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const lines = [
    'GET / HTTP/1.1',
    'Host: node',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...versions.map((version) => `Sec-WebSocket-Version: ${version}`),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  socket.destroy();
});
