import { describe, expect, test } from '@jest/globals';
import {
  logFilePath,
  matchesContainer,
  matchesSandbox,
  toContainer,
  toContainerStatus,
  toSandbox,
  toSandboxStatus,
} from '../../../src/embedded/monitor/views.ts';
import type { ContainerRecord } from '../../../src/embedded/monitor/records.ts';
import { containerRecord, sandboxRecord } from '../../support/process-records.ts';
import { containerConfig, podConfig } from '../../support/runtime-configs.ts';

const labels = { app: 'web', tier: 'front' };
const sandbox = sandboxRecord({ config: podConfig('/logs', { labels, annotations: { a: 'b' } }) });
const record = containerRecord({ config: containerConfig(['true'], { labels, image: { image: 'web:1' } }) });

describe('a sandbox', () => {
  test('is listed with what it was given', () => {
    const { id, config } = sandbox;
    expect(toSandbox(sandbox)).toEqual({
      id,
      metadata: config.metadata,
      state: 'SANDBOX_READY',
      createdAt: 1_000,
      labels,
      annotations: { a: 'b' },
    });
  });

  test('has the network mode that was requested; POD if none was', () => {
    const namespaceOptions = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const;
    const config = podConfig('/logs', { linux: { securityContext: { namespaceOptions } } });
    expect(toSandboxStatus(sandboxRecord({ config })).networkMode).toBe('NODE');
    expect(toSandboxStatus(sandbox).networkMode).toBe('POD');
  });

  test.each([
    [{}, true],
    [{ id: sandbox.id }, true],
    [{ id: 'other' }, false],
    [{ state: 'SANDBOX_READY' as const }, true],
    [{ state: 'SANDBOX_NOTREADY' as const }, false],
    [{ labelSelector: { app: 'web' } }, true],
    [{ labelSelector: { app: 'web', tier: 'back' } }, false],
    [{ labelSelector: { missing: '' } }, false],
  ])('passes the filter %j: %j', (filter, passes) => {
    expect(matchesSandbox(sandbox, filter)).toBe(passes);
  });
});

describe('a container', () => {
  const EXIT = { exitCode: 3, reason: 'Error', finishedAt: 9_000, message: 'over' };
  const statusOf = (more: Partial<ContainerRecord>) => toContainerStatus({ ...record, ...more }, sandbox);

  test('is listed with what it was given; its image is its own reference', () => {
    const { metadata, annotations } = record.config;
    expect(toContainer(record)).toEqual({
      id: record.id,
      podSandboxId: sandbox.id,
      metadata,
      image: 'web:1',
      imageRef: 'web:1',
      state: 'CONTAINER_CREATED',
      createdAt: 2_000,
      labels,
      annotations,
    });
  });

  test('has an exit code and message once it is exited', () => {
    const state = 'CONTAINER_EXITED';
    expect(statusOf({ state, startedAt: 5_000, exit: EXIT })).toMatchObject({
      startedAt: 5_000,
      finishedAt: 9_000,
      exitCode: 3,
      reason: 'Error',
      message: 'over',
    });
  });

  test('still runs, without an exit code, while processes that its main process has left are killed', () => {
    const state = 'CONTAINER_RUNNING';
    expect(statusOf({ state, startedAt: 5_000, exit: EXIT })).toMatchObject({
      state,
      finishedAt: 0,
      exitCode: 0,
      reason: '',
      message: '',
    });
  });

  test('has its log in the folder of its pod; no path if it has no log', () => {
    expect(statusOf({}).logPath).toBe(`${sandbox.config.logDirectory}/main/0.log`);
    const silent = containerRecord({ config: containerConfig(['true'], { logPath: '' }) });
    expect(logFilePath(silent, sandbox)).toBeUndefined();
    expect(toContainerStatus(silent, sandbox).logPath).toBe('');
  });

  test.each([
    [{}, true],
    [{ id: record.id }, true],
    [{ id: 'other' }, false],
    [{ podSandboxId: sandbox.id }, true],
    [{ podSandboxId: 'other' }, false],
    [{ state: 'CONTAINER_CREATED' as const }, true],
    [{ state: 'CONTAINER_EXITED' as const }, false],
    [{ labelSelector: labels }, true],
    [{ labelSelector: { app: 'other' } }, false],
  ])('passes the filter %j: %j', (filter, passes) => {
    expect(matchesContainer(record, filter)).toBe(passes);
  });
});
