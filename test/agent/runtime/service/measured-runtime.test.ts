import { describe, expect, test } from '@jest/globals';
import { measuredRuntime } from '../../../../src/agent/runtime/service/measured-runtime.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';

const METHODS = {
  version: 'version',
  status: 'status',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  createContainer: 'create_container',
  startContainer: 'start_container',
  stopContainer: 'stop_container',
  removeContainer: 'remove_container',
  listContainers: 'list_containers',
  containerStatus: 'container_status',
  listContainerStats: 'list_container_stats',
  reopenContainerLog: 'reopen_container_log',
  pullImage: 'pull_image',
  imageStatus: 'image_status',
  listImages: 'list_images',
  removeImage: 'remove_image',
  imageFsInfo: 'image_fs_info',
  checkpointContainer: 'checkpoint_container',
} as const satisfies Partial<Record<keyof RuntimeService, string>>;

type Method = (...args: unknown[]) => Promise<unknown>;

/** Each call answers with what it was given. */
const echoing = Object.fromEntries(
  Object.keys(METHODS).map((name) => [name, (...args: unknown[]) => Promise.resolve(args)]),
);

function measured(methods: object) {
  const measurements = new RecordedMeasurements();
  const runtime = measuredRuntime(methods as unknown as RuntimeService, measurements);
  const call = (name: string, ...args: unknown[]) =>
    (runtime as unknown as Record<string, Method>)[name]?.(...args);
  return { runtime, call, told: measurements.told };
}

describe('a measured runtime', () => {
  test.each(Object.entries(METHODS))('passes %s on, and measures it as %s', async (name, operation) => {
    const { call, told } = measured(echoing);
    const answer = (await call(name, 'a', 'b', 'c', 'd')) as unknown[];
    expect(['a', 'b', 'c', 'd'].slice(0, answer.length)).toEqual(answer);
    expect(answer.length).toBeGreaterThan(0);
    expect(told.filter((line) => line.startsWith('runtime'))).toEqual([
      `runtime ${operation} begins`,
      `runtime ${operation} ends`,
    ]);
  });

  test('measures sandboxes by their runtime handler as well', async () => {
    const { runtime, told } = measured({
      runPodSandbox: (config: unknown) =>
        config === 'good' ? Promise.resolve('id') : Promise.reject(new Error('down')),
    });
    expect(await runtime.runPodSandbox('good' as never, { runtimeHandler: 'kata' })).toBe('id');
    await expect(runtime.runPodSandbox('bad' as never)).rejects.toThrow('down');
    expect(told.filter((line) => line.startsWith('sandbox'))).toEqual([
      'sandbox of handler "kata" begins',
      'sandbox of handler "kata" ends',
      'sandbox of handler "" begins',
      'sandbox of handler "" ends in failure',
    ]);
  });

  test('passes an error on, and measures a failure', async () => {
    const { call, told } = measured({ version: () => Promise.reject(new Error('down')) });
    await expect(call('version')).rejects.toThrow('down');
    expect(told.at(-1)).toBe('runtime version ends in failure');
  });

  test.each([
    [0, 'runtime exec_sync ends'],
    [1, 'runtime exec_sync ends in failure'],
  ])('measures a command that ends with %i as: %s', async (exitCode, line) => {
    const { runtime, told } = measured({
      execSync: (...args: unknown[]) => Promise.resolve({ exitCode, args }),
    });
    expect(await runtime.execSync('id', ['true'], 1, {})).toEqual({
      exitCode,
      args: ['id', ['true'], 1, {}],
    });
    expect(told.at(-1)).toBe(line);
  });

  test.each([
    ['exec', 'exec'],
    ['attach', 'attach'],
    ['portForward', 'port_forward'],
  ] as const)('measures %s until it has its streams', async (name, operation) => {
    const answers = (...args: unknown[]) => Promise.resolve(args);
    const { runtime, told } = measured({ streaming: { [name]: answers } });
    const call = (runtime.streaming as unknown as Record<string, Method>)[name];
    expect(await call?.('request', 'options')).toEqual(['request', 'options']);
    expect(told).toEqual([`runtime ${operation} begins`, `runtime ${operation} ends`]);
  });

  test('offers only what the runtime offers', () => {
    const { runtime } = measured({});
    expect(runtime).not.toHaveProperty('streaming');
    expect(runtime).not.toHaveProperty('checkpointContainer');
  });

  test('keeps what it does not measure', () => {
    const close = () => Promise.resolve();
    expect(Object.entries(measured({ close }).runtime)).toContainEqual(['close', close]);
  });
});

test('without measurements the runtime is given as it is', () => {
  const runtime = echoing as unknown as RuntimeService;
  expect(measuredRuntime(runtime, undefined)).toBe(runtime);
});
