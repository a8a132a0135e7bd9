import { expect, test } from '@jest/globals';
import {
  cdiIdsOf,
  type ClaimDevice,
  claimHealth,
  type ClaimState,
  preparedProblem,
} from '../../../../src/agent/policies/dra/claim-devices.ts';
import { healthIn, withHealth } from '../../../../src/agent/policies/dra/device-health-list.ts';

const device = (name: string, requests: string[], cdiIds: string[]): ClaimDevice => ({
  pool: 'p',
  device: name,
  shareId: '',
  requests,
  cdiIds,
});
const CLAIM: ClaimState = {
  uid: 'uid-claim',
  namespace: 'default',
  name: 'shared',
  pods: ['uid-web'],
  drivers: {
    'a.test': [device('one', ['x'], ['a/d=1', 'a/d=2']), device('two', ['y'], [])],
    'b.test': [device('all', [], ['b/d=1'])],
    'c.test': [],
  },
};

test('a container gets the devices of the requests that it names, or of all, each once', () => {
  expect(cdiIdsOf(CLAIM, [''])).toEqual(['a/d=1', 'a/d=2', 'b/d=1']);
  expect(cdiIdsOf(CLAIM, ['x', 'x'])).toEqual(['a/d=1', 'a/d=2', 'b/d=1']);
  expect(cdiIdsOf(CLAIM, ['y'])).toEqual(['b/d=1']);
  expect(cdiIdsOf(CLAIM, [])).toEqual([]);
});

test('the status of a container has the health of its devices, by the first name that the runtime knows', () => {
  const healthOf = (driver: string) =>
    driver === 'a.test'
      ? ({ health: 'Unhealthy', message: 'too hot' } as const)
      : ({ health: 'Healthy', message: '' } as const);
  expect(claimHealth({ name: 'gpu' }, CLAIM, healthOf)).toEqual({
    name: 'claim:gpu',
    resources: [
      { resourceID: 'a/d=1', health: 'Unhealthy', message: 'too hot' },
      { resourceID: 'a.test/p/two', health: 'Unhealthy', message: 'too hot' },
      { resourceID: 'b/d=1', health: 'Healthy' },
    ],
  });
  const ofRequest = claimHealth({ name: 'gpu', request: 'y/sub' }, CLAIM, healthOf);
  expect(ofRequest?.name).toBe('claim:gpu/y/sub');
  expect(ofRequest?.resources?.map(({ resourceID }) => resourceID)).toEqual(['a.test/p/two', 'b/d=1']);
  expect(claimHealth({ name: 'gpu' }, { ...CLAIM, drivers: {} }, healthOf)).toBeUndefined();
});

test('a malformed answer of a driver is refused', () => {
  const many = Array.from({ length: 1_001 }, (_, index) => device(String(index), [], []));
  expect(preparedProblem(many)).toBe('it has more than 1000 devices');
  expect(
    preparedProblem([
      device(
        'd',
        [],
        many.map(() => 'x'),
      ),
    ]),
  ).toContain('more than 100 requests or CDI');
  expect(preparedProblem([device('d'.repeat(1_001), [], [])])).toContain(
    'a text of more than 1000 characters',
  );
  expect(preparedProblem(many.slice(1))).toBeUndefined();
});

const told = (name: string, health: 'Healthy' | 'other', timeoutSeconds = 0, message = '') => ({
  device: { pool: 'p', device: name },
  health,
  timeoutSeconds,
  message,
});

test('the health that a driver has reported expires after a time, which the driver may set', () => {
  const list = withHealth(undefined, [told('d', 'Healthy'), told('e', 'Healthy', 5), told('f', 'other')], 0);
  const at = (name: string, now: number) => healthIn(list, { pool: 'p', device: name }, now).health;
  expect([at('d', 30_000), at('d', 30_001)]).toEqual(['Healthy', 'Unknown']);
  expect([at('e', 5_000), at('e', 5_001)]).toEqual(['Healthy', 'Unknown']);
  expect([at('f', 0), at('none', 0)]).toEqual(['Unknown', 'Unknown']);
  // A device that the next list leaves out counts until its time is over.
  const next = withHealth(list, [told('e', 'Healthy', 5)], 10_000);
  expect(healthIn(next, { pool: 'p', device: 'd' }, 10_000).health).toBe('Healthy');
});

test('a message is cut as the kubelet cuts it, and control characters for a terminal are shown as text', () => {
  const list = withHealth(
    undefined,
    [told('d', 'Healthy', 0, 'x'.repeat(2_000)), told('e', 'Healthy', 0, '\u001b[2J')],
    0,
  );
  expect(healthIn(list, { pool: 'p', device: 'd' }, 0).message).toBe(`${'x'.repeat(1_021)}...`);
  expect(healthIn(list, { pool: 'p', device: 'e' }, 0).message).toBe('\\u001b[2J');
});
