import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { get } from '../../../src/commands/client/get.ts';
import { answerJSON } from '../../../src/agent/server/routes/route.ts';
import { type OwnerSocket, ownerSocket } from '../../support/owner-socket.ts';

const NOW = Date.UTC(2030, 0, 2);
const NODE = {
  kind: 'Node',
  apiVersion: 'v1',
  metadata: {
    name: 'one',
    labels: { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/edge': '' },
    creationTimestamp: '2030-01-01T00:00:00Z',
  },
  spec: { unschedulable: true },
  status: {
    conditions: [{ type: 'Ready', status: 'True' }],
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    nodeInfo: {
      kubeletVersion: 'v1.36.2',
      osImage: 'Debian 13',
      kernelVersion: '6.1',
      architecture: 'amd64',
    },
  },
};

let node: object;
let socket: OwnerSocket;
beforeEach(async () => {
  node = NODE;
  socket = await ownerSocket([{ path: '/node/object', handle: (_, response) => answerJSON(response, node) }]);
});
afterEach(async () => socket.close());

async function shown(words: string, flags = {}): Promise<string> {
  let text = '';
  const take = (part: string) => void (text += part);
  const all = { ...flags, rootDir: socket.rootDir };
  await get(words.split(' '), all, { write: take, tell: take }, { now: () => NOW });
  return text;
}

test('the columns are those of kubectl', async () => {
  expect(await shown('nodes')).toBe(
    'NAME   STATUS                     ROLES         AGE   VERSION\n' +
      'one    Ready,SchedulingDisabled   edge,worker   24h   v1.36.2\n',
  );
  expect((await shown('no one', { output: 'wide', headers: false })).split(/ {2,}|\n/u)).toEqual(
    [
      'one',
      'Ready,SchedulingDisabled',
      'edge,worker',
      '24h',
      'v1.36.2',
      '10.0.0.1',
      '<none>',
      'Debian 13',
    ].concat('6.1 (amd64)', '<unknown>', ''),
  );
});

test.each([
  [{ conditions: [{ type: 'Ready', status: 'False' }] }, 'NotReady'],
  [{}, 'Unknown'],
])('a node that says of itself %j', async (status, word) => {
  node = { metadata: { name: 'one' }, status };
  expect(await shown('node/one', { headers: false })).toMatch(new RegExp(`^one +${word} +<none> +<unknown>`));
});

test('documents, names and selectors', async () => {
  expect(JSON.parse(await shown('node one', { output: 'json' }))).toEqual(NODE);
  expect(JSON.parse(await shown('nodes', { output: 'json' }))).toMatchObject({ kind: 'List', items: [NODE] });
  expect(await shown('nodes', { output: 'name' })).toBe('node/one\n');
  expect(await shown('nodes', { selector: 'a=b' })).toBe('No resources found');
});

test('a name that does not exist, and flags that only pods have, are refused', async () => {
  await expect(shown('node other')).rejects.toThrow('there is no node "other" here, but one');
  expect(await shown('node other', { ignoreNotFound: true })).toBe('');
  await expect(shown('nodes', { watch: true })).rejects.toThrow('only pods can be watched');
  await expect(shown('nodes', { fieldSelector: 'metadata.name=b' })).rejects.toThrow(
    'only pods have such fields',
  );
});
