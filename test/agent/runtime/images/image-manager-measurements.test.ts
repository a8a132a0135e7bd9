import { describe, expect, test } from '@jest/globals';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { imageBed, type ImageBed, refusal } from './image-bed.ts';

describe('what is measured of an image that a container needs', () => {
  const told = async (container: Parameters<ImageBed['ensure']>[1], isThere = false) => {
    const measurements = new RecordedMeasurements();
    const bed = imageBed({}, measurements);
    if (isThere) bed.add('app:1');
    const ensured = refusal(bed.ensure('a', container));
    await bed.clock.advance(0);
    for (const pull of bed.pulls) pull.succeed();
    await ensured;
    return measurements.told.find((line) => line.startsWith('image '));
  };

  test.each([
    ['Always', true, 'image Always: present ?, pull true'],
    ['IfNotPresent', true, 'image IfNotPresent: present true, pull false'],
    ['IfNotPresent', false, 'image IfNotPresent: present false, pull true'],
    ['Never', true, 'image Never: present true, pull false'],
    ['Never', false, 'image Never: present false, pull ?'],
  ] as const)('%s, on the node: %s', async (imagePullPolicy, isThere, line) => {
    expect(await told({ imagePullPolicy }, isThere)).toBe(line);
  });

  test('an invalid name is not looked up', async () => {
    expect(await told({ image: 'NO NAME', imagePullPolicy: 'Always' })).toBe(
      'image Always: present ?, pull ?',
    );
  });
});

test('a pull is measured for the pod that waits for it, also one that fails', async () => {
  const measurements = new RecordedMeasurements();
  const bed = imageBed({}, measurements);
  const ensured = refusal(bed.ensure('pod', { imagePullPolicy: 'Always' }));
  await bed.clock.advance(0);
  expect(measurements.told).toEqual(['pod pull begins']);
  bed.pulls[0]?.fail('no such image');
  await ensured;
  expect(measurements.told.slice(0, 2)).toEqual(['pod pull begins', 'pod pull ends']);
});
