import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DBusConnection } from '../../../src/system/dbus/dbus-connection.ts';
import { DBusPeer } from '../../support/dbus-peer.ts';
import { Logind } from '../../support/logind.ts';
import { noContainerdBecause } from '../../support/containerd/suite.ts';

const PATIENCE_MS = 60_000;
const call = (member: string) => ({ destination: 'org.x', path: '/x', interface: 'org.x', member });
let closed = 0;
const connected = (path: string, patienceMs = PATIENCE_MS) =>
  DBusConnection.open({ path, patienceMs, onSignal: () => undefined, onClosed: () => closed++ });

let peer: DBusPeer;
beforeEach(async () => {
  peer = await new DBusPeer().listen();
  closed = 0;
});
afterEach(() => peer.close());

test('calls are answered, each by its own answer', async () => {
  peer.on('A', (one) => one.answer('s', ['a'])).on('B', (one) => one.answer('u', [2]));
  const connection = await connected(peer.path);
  const answers = ['A', 'B', 'A'].map((member) => connection.call(call(member), PATIENCE_MS));
  expect(await Promise.all(answers)).toEqual([['a'], [2], ['a']]);
  connection.close();
});

test('an error of the peer has its name and its text, shortened', async () => {
  peer.on('A', (one) => one.fail('org.freedesktop.DBus.Error.AccessDenied', 'x'.repeat(10_000)));
  const connection = await connected(peer.path);
  await expect(connection.call(call('A'), PATIENCE_MS)).rejects.toMatchObject({
    kind: 'PermissionDenied',
    errorName: 'org.freedesktop.DBus.Error.AccessDenied',
    message: 'x'.repeat(500),
  });
  connection.close();
});

test('a call without an answer ends after its patience, and others go on', async () => {
  peer.on('B', (one) => one.answer());
  const connection = await connected(peer.path);
  await expect(connection.call(call('A'), 1)).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
  await expect(connection.call(call('B'), PATIENCE_MS)).resolves.toEqual([]);
  connection.close();
});

describe('the connection ends, and every call that waits, when the peer', () => {
  test.each([
    ['hangs up', (one: { hangUp: () => void }) => one.hangUp(), 'the connection was closed'],
    [
      'sends another protocol',
      (one: { send: (bytes: Buffer) => void }) => one.send(Buffer.from('HTTP/1.1 400 Bad')),
      'no message of D-Bus',
    ],
    [
      'announces a message without end',
      (one: { send: (bytes: Buffer) => void }) =>
        one.send(Buffer.from('6c020001ffffff7f0100000008000000', 'hex')),
      'a message of',
    ],
  ])('%s', async (_, act, why) => {
    peer.on('A', act);
    const connection = await connected(peer.path);
    const waiting = connection.call(call('Other'), PATIENCE_MS);
    const ended = expect(waiting).rejects.toMatchObject({
      kind: 'Unavailable',
      message: expect.stringContaining(why),
    });
    await expect(connection.call(call('A'), PATIENCE_MS)).rejects.toMatchObject({ kind: 'Unavailable' });
    await ended;
    expect(closed).toBe(1);
    await expect(connection.call(call('A'), PATIENCE_MS)).rejects.toMatchObject({ kind: 'Unavailable' });
  });
});

test.each([
  ['refuses this user', 'REJECTED EXTERNAL\r\n', 'no permission'],
  ['answers with a line without end', 'x'.repeat(2_000), 'no permission'],
])('a peer that %s is not connected', async (_, greeting, why) => {
  const refusing = await new DBusPeer(greeting).listen();
  await expect(connected(refusing.path)).rejects.toMatchObject({
    kind: 'Unavailable',
    message: expect.stringContaining(why),
  });
  await refusing.close();
});

test('a peer that is not there, or says nothing, is not connected', async () => {
  await expect(connected(`${peer.path}-none`)).rejects.toMatchObject({ kind: 'Unavailable' });
  const silent = await new DBusPeer('').listen();
  await expect(connected(silent.path, 1)).rejects.toMatchObject({
    message: expect.stringContaining('no answer'),
  });
  await silent.close();
});

const onBus = noContainerdBecause() === undefined ? test : test.skip;

onBus('a real message bus answers', async () => {
  const logind = await Logind.start();
  const path = (process.env.DBUS_SYSTEM_BUS_ADDRESS ?? '').replace('unix:path=', '');
  const connection = await connected(path);
  const BUS = {
    destination: 'org.freedesktop.DBus',
    path: '/org/freedesktop/DBus',
    interface: 'org.freedesktop.DBus',
  };
  const [name] = await connection.call({ ...BUS, member: 'Hello' }, PATIENCE_MS);
  expect(name).toMatch(/^:1\.\d+$/);
  const [names] = await connection.call({ ...BUS, member: 'ListNames' }, PATIENCE_MS);
  expect(names).toEqual(expect.arrayContaining(['org.freedesktop.DBus', 'org.freedesktop.login1', name]));
  const property = { ...BUS, destination: 'org.freedesktop.login1', path: '/org/freedesktop/login1' };
  const get = { ...property, interface: 'org.freedesktop.DBus.Properties', member: 'GetAll', signature: 's' };
  const [all] = await connection.call({ ...get, body: ['org.freedesktop.login1.Manager'] }, PATIENCE_MS);
  expect(all).toEqual(expect.arrayContaining([['IdleAction', { signature: 's', value: 'ignore' }]]));
  connection.close();
  await logind.stop();
});
