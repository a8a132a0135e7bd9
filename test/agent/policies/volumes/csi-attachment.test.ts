import { expect, test } from '@jest/globals';
import {
  attachReport,
  exceedsLimit,
  isAttached,
} from '../../../../src/agent/policies/volumes/csi-attachment.ts';
import type { Node, VolumeAttachment } from '../../../../src/types/kubernetes.ts';

test('the node says by name what is in use and what is attached', () => {
  const status = { volumesInUse: ['a', 'b'], volumesAttached: [{ name: 'b', devicePath: '' }] };
  const node = { metadata: { name: 'n' }, status } as Node;
  expect(attachReport(node, 'a')).toEqual({ isInUse: true, isAttached: false });
  expect(attachReport(node, 'b')).toEqual({ isInUse: true, isAttached: true });
  expect(attachReport(undefined, 'b')).toEqual({ isInUse: false, isAttached: false });
});

test('a volume that is about to be detached is not attached, though its attachment says so', () => {
  const attachment = (status: object, metadata: object = {}) => ({ metadata, status }) as VolumeAttachment;
  expect(isAttached(attachment({ attached: true }))).toBe(true);
  expect(isAttached(attachment({ attached: false }))).toBe(false);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  expect(() => isAttached(attachment({ attached: true }, { deletionTimestamp }))).toThrow('is being deleted');
  const error = { message: `no\u001b[31m disk ${'x'.repeat(2_000)}` };
  expect(() => isAttached(attachment({ attached: false, attachError: error }))).toThrow(
    /^no(?! disk x{500})[ -~]* disk x{100}/,
  );
});

test('the node can have no more volumes where the attachment says ResourceExhausted, of a driver that reports how many it can have', () => {
  const attachment = (errorCode?: number) =>
    ({ status: { attached: false, attachError: { message: 'no slot', errorCode } } }) as VolumeAttachment;
  const mutable = { spec: { nodeAllocatableUpdatePeriodSeconds: 60 } };
  expect(exceedsLimit(attachment(8), mutable)).toBe(true);
  expect(exceedsLimit(attachment(13), mutable)).toBe(false);
  expect(exceedsLimit(attachment(), mutable)).toBe(false);
  expect(exceedsLimit(undefined, mutable)).toBe(false);
  expect(exceedsLimit(attachment(8), { spec: {} })).toBe(false);
  expect(exceedsLimit(attachment(8), undefined)).toBe(false);
});
