import { beforeEach, describe, expect, test } from '@jest/globals';
import { VolumeStates } from '../../../../src/agent/runtime/volumes/pod-volumes.ts';
import { VolumeMeter } from '../../../../src/agent/runtime/volumes/volume-meter.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';

const tick = () => new Promise(setImmediate);

test('work on one volume waits for earlier work on it, also for work that failed; other volumes do not wait', async () => {
  const states = new VolumeStates();
  const told: string[] = [];
  const say = (what: string) => () => {
    told.push(what);
    return Promise.resolve();
  };
  const first = Promise.withResolvers<undefined>();
  const earlier = states.inTurn('u', 'a', async () => {
    told.push('first');
    await first.promise;
  });
  const refused = expect(earlier).rejects.toThrow('broken');
  const later = states.inTurn('u', 'a', say('second'));
  await states.inTurn('u', 'b', say('other volume'));
  await states.inTurn('v', 'a', say('other pod'));
  expect(told).toEqual(['first', 'other volume', 'other pod']);
  first.reject(new Error('broken'));
  await refused;
  await later;
  expect(told.at(-1)).toBe('second');
});

test('a pod is at rest when all work on its volumes has ended', async () => {
  const states = new VolumeStates();
  await states.atRest('u');
  const work = Promise.withResolvers<undefined>();
  void states.inTurn('u', 'a', () => work.promise);
  let isAtRest = false;
  const rest = states.atRest('u').then(() => (isAtRest = true));
  await tick();
  expect(isAtRest).toBe(false);
  work.resolve(undefined);
  await rest;
});

test('what is known of a volume is kept until the pod is forgotten', () => {
  const states = new VolumeStates();
  expect(states.has('u')).toBe(false);
  states.of('u', 'a').readyAs = 'x';
  expect([states.has('u'), states.of('u', 'a').readyAs, states.of('u', 'b').readyAs]).toEqual([
    true,
    'x',
    undefined,
  ]);
  states.forget('u');
  expect([states.has('u'), states.of('u', 'a').readyAs]).toEqual([false, undefined]);
});

describe('volume meter', () => {
  const EMPTY_DIR = { name: 'scratch', emptyDir: {} };
  const SECRET = { name: 'keys', secret: { secretName: 'keys' } };
  const OF_EMPTY_DIR = { plugin: 'kubernetes.io/empty-dir', isBlock: false };
  const OF_SECRET = { plugin: 'kubernetes.io/secret', isBlock: false };

  let measurements: RecordedMeasurements;
  let meter: VolumeMeter;
  beforeEach(() => {
    measurements = new RecordedMeasurements();
    meter = new VolumeMeter(measurements);
  });
  const told = () => measurements.told.splice(0);

  describe('mounting', () => {
    test('is measured once for a volume whose content is the containers’ own', () => {
      meter.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)?.('success');
      expect(told()).toEqual([
        'volume_mount kubernetes.io/empty-dir begins',
        'wanted kubernetes.io/empty-dir begins',
        'volume_mount kubernetes.io/empty-dir ends',
        'wanted kubernetes.io/empty-dir ends',
      ]);
      expect(meter.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)).toBeUndefined();
      expect(meter.mounting('other pod', EMPTY_DIR, OF_EMPTY_DIR)).toBeDefined();
    });

    test('is measured each time for a volume whose files are brought up to date', () => {
      meter.mounting('u', SECRET, OF_SECRET)?.('success');
      expect(meter.mounting('u', SECRET, OF_SECRET)).toBeDefined();
    });

    test('is measured as a whole from the first try on, once', () => {
      const wanted = () => told().filter((line) => line.startsWith('wanted'));
      meter.mounting('u', SECRET, OF_SECRET)?.('failure');
      expect(wanted()).toEqual(['wanted kubernetes.io/secret begins']);
      meter.mounting('u', SECRET, OF_SECRET)?.('success');
      expect(wanted()).toEqual(['wanted kubernetes.io/secret ends']);
      meter.mounting('u', SECRET, OF_SECRET)?.('success');
      expect(wanted()).toEqual([]);
      meter.unmounting('u')?.('success');
      meter.mounting('u', SECRET, OF_SECRET)?.('success');
      expect(wanted()).toHaveLength(2);
    });

    test('is measured again after a failure', () => {
      meter.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)?.('failure');
      expect(told().at(-1)).toBe('volume_mount kubernetes.io/empty-dir ends in failure');
      expect(meter.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)).toBeDefined();
    });
  });

  describe('unmounting', () => {
    test('is measured for each volume of the pod that was mounted', () => {
      meter.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)?.('success');
      meter.mounting('u', SECRET, OF_SECRET)?.('success');
      told();
      meter.unmounting('u')?.('success');
      expect(told()).toEqual([
        'volume_unmount kubernetes.io/empty-dir begins',
        'volume_unmount kubernetes.io/secret begins',
        'volume_unmount kubernetes.io/empty-dir ends',
        'volume_unmount kubernetes.io/secret ends',
      ]);
      expect(meter.unmounting('u')).toBeUndefined();
      expect(meter.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)).toBeDefined();
    });

    test('is measured again after a failure', () => {
      meter.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)?.('success');
      meter.unmounting('u')?.('failure');
      expect(meter.unmounting('u')).toBeDefined();
    });

    test('of a pod without volumes is not measured', () => {
      expect(meter.unmounting('u')).toBeUndefined();
    });
  });

  test('without measurements nothing is measured', () => {
    const unmeasured = new VolumeMeter(undefined);
    expect(unmeasured.mounting('u', EMPTY_DIR, OF_EMPTY_DIR)).toBeUndefined();
    expect(unmeasured.unmounting('u')).toBeUndefined();
  });
});
