import { expect, test } from '@jest/globals';
import { checkpointText, readCheckpoint } from '../../../../src/agent/policies/devices/devices-checkpoint.ts';

const bytesOf = (text: string) => [...Buffer.from(text, 'base64')];
const base64 = (bytes: readonly number[]) => Buffer.from(bytes).toString('base64');

/** As a kubelet has written it. */
const OF_KUBELET =
  '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}';

test("a kubelet's checkpoint is read, and written again byte by byte with its checksum", () => {
  const checkpoint = readCheckpoint(OF_KUBELET, bytesOf);
  expect(checkpoint.entries[0]?.DeviceIDs).toEqual({ '-1': ['tegra'] });
  expect(checkpointText(checkpoint, base64)).toBe(OF_KUBELET);
});

test('without entries it has null, as Go writes it, and is read again', () => {
  const text = checkpointText({ entries: [], registered: { 'b/x': ['1'], 'a/x': [] } }, base64);
  expect(text).toContain('"PodDeviceEntries":null');
  expect(readCheckpoint(text, bytesOf).registered).toEqual({ 'b/x': ['1'], 'a/x': [] });
});

test.each([
  [OF_KUBELET.replace('tegra', 'other'), 'its checksum is not that of its content'],
  ['[]', 'it has no Data'],
  ['{"Data":{"PodDeviceEntries":{}}}', 'PodDeviceEntries is not a list'],
  ['{"Data":{"PodDeviceEntries":[{"PodUID":1}]}}', 'a name in an entry is not a text'],
  ['{"Data":{"RegisteredDevices":{"a":"b"}}}', 'something else than lists of IDs'],
])('%s is refused', (text, problem) => {
  expect(() => readCheckpoint(text, bytesOf)).toThrow(problem);
});
