import { describe, expect, test } from '@jest/globals';
import { SimulatedSandbox } from '../../../src/simulation/runtime/simulated-sandbox.ts';
import { sandboxConfig } from './simulated-bed.ts';

const sandboxOf = (id: string, config = sandboxConfig('pod')) =>
  new SimulatedSandbox(config, { id, createdAt: 1000, runtimeHandler: undefined });

describe('a simulated sandbox', () => {
  test('is listed as the same object until its state changes', () => {
    const sandbox = sandboxOf('pod.s1');
    const listed = sandbox.listed();
    expect(sandbox.listed()).toBe(listed);
    expect(listed).toMatchObject({ id: 'pod.s1', state: 'SANDBOX_READY', createdAt: 1e9 });
    sandbox.ready = false;
    expect(sandbox.listed()).toMatchObject({ id: 'pod.s1', state: 'SANDBOX_NOTREADY' });
  });

  test('has an address that depends on its id alone, while it is ready', () => {
    const sandbox = sandboxOf('pod.s1');
    const { network } = sandbox.status();
    expect(network?.ip).toMatch(/^10\.\d+\.\d+\.\d+$/);
    expect(sandboxOf('pod.s1').status().network).toEqual(network);
    expect(sandboxOf('pod.s2').status().network).not.toEqual(network);
    sandbox.ready = false;
    expect(sandbox.status().network).toBeUndefined();
  });

  test("has no address of its own in the node's network", () => {
    const namespaceOptions = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const;
    const config = { ...sandboxConfig('pod'), linux: { securityContext: { namespaceOptions } } };
    const { networkMode, network } = sandboxOf('pod.s1', config).status();
    expect([networkMode, network]).toEqual(['NODE', undefined]);
  });

  test('has the runtime handler that it was given', () => {
    const options = { id: 'pod.s1', createdAt: 1000, runtimeHandler: 'kata' };
    expect(new SimulatedSandbox(sandboxConfig('pod'), options).listed().runtimeHandler).toBe('kata');
    expect(sandboxOf('pod.s1').listed().runtimeHandler).toBeUndefined();
  });
});
