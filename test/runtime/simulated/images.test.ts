import { describe, expect, test } from '@jest/globals';
import { simulatedBed } from './simulated-bed.ts';

const { runtime } = simulatedBed();

describe('a simulated image', () => {
  test('is present from its pull to its removal', async () => {
    expect(await runtime.imageStatus('app:1')).toBeUndefined();
    await runtime.pullImage('app:1');
    expect(await runtime.imageStatus('app:1')).toMatchObject({ id: 'app:1' });
    expect(await runtime.listImages()).toHaveLength(1);
    await runtime.removeImage('app:1');
    expect(await runtime.listImages()).toEqual([]);
  });

  test('that is called missing cannot be pulled', async () => {
    await expect(runtime.pullImage('app:missing')).rejects.toMatchObject({ kind: 'NotFound' });
  });
});
