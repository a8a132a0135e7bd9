/** What systemd does not do on demand: to be away or slow, to lose a connection, to have a unit that has failed. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SystemdManager } from '../../../../src/agent/runtime/cgroups/systemd-manager.ts';
import { DBusPeer, done, jobEnds, type PeerCall } from '../../../support/dbus-peer.ts';

const UNIT = 'kubepods.slice';
const PATIENCE_MS = 60_000;
const NONE = '/no/such/socket';

let peer: DBusPeer;
let manager: SystemdManager;
const open = (patienceMs = PATIENCE_MS, sockets = { direct: peer.path, bus: NONE }) =>
  (manager = new SystemdManager({ sockets, patienceMs }));

const fails = (name: string) => (call: PeerCall) => call.fail(`org.freedesktop.systemd1.${name}`);
const state = (value: string) => (call: PeerCall) => call.answer('v', [{ signature: 's', value }]);

beforeEach(async () => {
  peer = await new DBusPeer().listen();
  peer
    .on('StartTransientUnit', done)
    .on('StartUnit', done)
    .on('StopUnit', done)
    .on('ResetFailedUnit', (call) => call.answer())
    .on('SetUnitProperties', (call) => call.answer())
    .on('LoadUnit', (call) => call.answer('o', ['/unit']));
});
afterEach(async () => {
  manager.close();
  await peer.close();
});

test('a slice is made with its properties, and its job is awaited', async () => {
  let asked: PeerCall | undefined;
  peer.on('StartTransientUnit', (call) => {
    asked = call;
    // The job may end before systemd answers.
    jobEnds(call, 'done');
    call.answer('o', ['/job/1']);
  });
  const description = ['Description', { signature: 's', value: 'x' }] as const;
  await open().startSlice(UNIT, [description]);
  expect(asked?.body).toEqual([UNIT, 'replace', [description], []]);
});

test('a job that does not end well is an error that names the unit', async () => {
  peer.on('StartTransientUnit', (call) => {
    call.answer('o', ['/job/1']);
    jobEnds(call, 'failed');
  });
  await expect(open().startSlice(UNIT, [])).rejects.toThrow(`systemd's job for ${UNIT} ended as "failed"`);
});

test('a slice that is there stays as it is', async () => {
  peer.on('StartTransientUnit', fails('UnitExists')).on('Get', state('active'));
  await open().startSlice(UNIT, []);
  expect(peer.called).toEqual(['StartTransientUnit', 'LoadUnit', 'Get']);
});

test('a slice that has failed is reset and started', async () => {
  peer.on('StartTransientUnit', fails('UnitExists')).on('Get', state('failed'));
  await open().startSlice(UNIT, []);
  expect(peer.called.slice(3)).toEqual(['ResetFailedUnit', 'StartUnit']);
});

test('a slice is stopped and forgotten, and one that does not exist is no error', async () => {
  await open().stop(UNIT);
  peer.on('StopUnit', fails('NoSuchUnit')).on('ResetFailedUnit', fails('NoSuchUnit'));
  await manager.stop(UNIT);
  expect(peer.called).toEqual(['StopUnit', 'ResetFailedUnit', 'StopUnit', 'ResetFailedUnit']);
  peer.on('SetUnitProperties', fails('NoSuchUnit'));
  expect(await manager.setProperties(UNIT, [])).toBe(false);
});

test('a connection that is lost while a job goes on is made again, and the call repeated', async () => {
  peer
    .on(
      'StartTransientUnit',
      (call) => {
        call.answer('o', ['/job/1']);
        call.hangUp();
      },
      fails('UnitExists'),
    )
    .on('Get', state('active'));
  await open().startSlice(UNIT, []);
  expect(peer.called).toEqual(['StartTransientUnit', 'StartTransientUnit', 'LoadUnit', 'Get']);
});

test('if systemd is away, the error is temporary, and says for what systemd is needed', async () => {
  await expect(open(PATIENCE_MS, { direct: NONE, bus: NONE }).stop(UNIT)).rejects.toMatchObject({
    kind: 'Unavailable',
    message: expect.stringMatching(
      /^systemd, which makes the cgroups of pods \(cgroupDriver: systemd\), does not answer: \/no\/such/,
    ),
  });
});

test('systemd that takes longer than the limit for a call or its job is an error with that limit', async () => {
  peer.on('StopUnit', () => undefined);
  await expect(open(20).stop(UNIT)).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
  peer.on('StopUnit', (call) => call.answer('o', ['/job/1']));
  await expect(manager.stop(UNIT)).rejects.toThrow(
    `systemd has not finished its job for ${UNIT} within 0.02 s`,
  );
});

test('a refusal of systemd is passed on unchanged', async () => {
  peer.on('StartTransientUnit', (call) =>
    call.fail('org.freedesktop.DBus.Error.AccessDenied', 'Access denied'),
  );
  await expect(open().startSlice(UNIT, [])).rejects.toMatchObject({
    kind: 'PermissionDenied',
    message: expect.stringContaining('Access denied'),
  });
});

test('over the message bus the client says Hello, and subscribes to the signals of jobs', async () => {
  for (const member of ['Hello', 'AddMatch', 'Subscribe']) peer.on(member, (call) => call.answer());
  await open(PATIENCE_MS, { direct: NONE, bus: peer.path }).startSlice(UNIT, []);
  expect(peer.called).toEqual(['Hello', 'AddMatch', 'Subscribe', 'StartTransientUnit']);
});

test('after systemd has left the message bus, the call is repeated', async () => {
  for (const member of ['Hello', 'AddMatch', 'Subscribe']) peer.on(member, (call) => call.answer());
  peer.on(
    'SetUnitProperties',
    (call) => call.fail('org.freedesktop.DBus.Error.NoReply'),
    (call) => call.answer(),
  );
  await expect(open(PATIENCE_MS, { direct: NONE, bus: peer.path }).setProperties(UNIT, [])).resolves.toBe(
    true,
  );
});
