import { beforeEach, expect, test } from '@jest/globals';
import { ResourceSlices } from '../../../../src/agent/cluster/objects/resource-slices.ts';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import type {
  ApiServer,
  DeleteOptions,
  ListOptions,
} from '../../../../src/agent/cluster/service/api-server.ts';
import type { ObjectReference } from '../../../../src/agent/cluster/service/api-resources.ts';
import { NEVER_ABORTED } from '../../../../src/system/promises.ts';

let lists: (string | undefined)[];
let deleted: (readonly [name: string, uid: string | undefined])[];
/** By the name of a slice, or of the list. */
let failures: Map<string, number>;

const refusal = (name: string) => {
  const status = failures.get(name);
  if (status !== undefined) throw new ApiError('refused', { status, reason: REASONS[status] ?? '' });
};
const REASONS: Readonly<Record<number, string>> = { 404: 'NotFound', 409: 'Conflict', 403: 'Forbidden' };

beforeEach(() => {
  lists = [];
  deleted = [];
  failures = new Map();
});

const api = {
  list: (_: unknown, { fieldSelector }: ListOptions = {}) => {
    lists.push(fieldSelector);
    refusal('list');
    const items = ['one', 'two'].map((name) => ({
      metadata: { name, uid: `uid-${name}` },
      spec: { driver: `${name}.dra.test` },
    }));
    return Promise.resolve({ metadata: { resourceVersion: '1' }, items });
  },
  delete: ({ name }: ObjectReference, { uid }: DeleteOptions = {}) => {
    deleted.push([name, uid]);
    refusal(name);
    return Promise.resolve();
  },
} as unknown as Pick<ApiServer, 'list' | 'delete'>;
const remove = async (driver?: string, isSpared: (driver: string) => boolean = () => false) =>
  new ResourceSlices(api, 'node-a').remove(driver, isSpared, NEVER_ABORTED);

test('slices of this node are deleted, of all drivers or of one, but not a slice that was created again', async () => {
  await remove();
  await remove('gpu.dra.test');
  expect(lists).toEqual(['spec.nodeName=node-a', 'spec.nodeName=node-a,spec.driver=gpu.dra.test']);
  expect(deleted.slice(0, 2)).toEqual([
    ['one', 'uid-one'],
    ['two', 'uid-two'],
  ]);
});

test('slices of a driver that is excluded stay, also if that becomes known only between two deletions', async () => {
  await remove(undefined, (driver) => driver === 'one.dra.test' || deleted.length > 0);
  expect(deleted).toEqual([['two', 'uid-two']]);
  deleted = [];
  await remove(undefined, () => deleted.length > 0);
  expect(deleted).toEqual([['one', 'uid-one']]);
});

test('a slice that is gone or created again does not stop the deletion of the others', async () => {
  failures.set('one', 404).set('two', 409);
  await remove();
  expect(deleted).toHaveLength(2);
});

test('a server without ResourceSlices has none; another refusal rejects, so that it is tried again', async () => {
  failures.set('list', 404);
  await remove();
  failures.delete('list');
  failures.set('one', 403);
  await expect(remove()).rejects.toThrow('refused');
});
