/** Memory that is kept for containers, as the kernel shows it. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

const RESOURCES = { cpu: '100m', memory: '48Mi' };
const reserving = (memory: string) => ({
  memoryManagerPolicy: 'Static',
  systemReserved: { memory: '200Mi' },
  evictionHard: { 'memory.available': '100Mi' },
  reservedMemory: [{ numaNode: 0, limits: { memory } }],
});
const STATIC = reserving('300Mi');

const NODES = '/sys/devices/system/node';

/** How much memory each NUMA node has. */
const memoryOfNodes = () =>
  readdirSync(NODES)
    .filter((name) => /^node\d+$/u.test(name))
    .map((name) => /MemTotal:.*/u.exec(readFileSync(join(NODES, name, 'meminfo'), 'utf8'))?.[0])
    .join();

const STATE_FILE = 'memory_manager_state';

describeOnContainerd('the memory manager', ({ openBed, closeBeds }) => {
  interface State {
    readonly machineState: Readonly<
      Record<string, { readonly memoryMap: { readonly memory: { reserved: number } } }>
    >;
    readonly entries?: unknown;
  }
  const stateOf = (bed: CriDaemonBed) =>
    JSON.parse(readFileSync(join(bed.rootDir, STATE_FILE), 'utf8')) as State;
  const reserved = (bed: CriDaemonBed) =>
    Object.values(stateOf(bed).machineState).reduce(
      (sum, { memoryMap }) => sum + memoryMap.memory.reserved,
      0,
    );
  const refusal = async (bed: CriDaemonBed) => {
    const refused = bed.launch(['--pod-manifest-path', bed.manifestDir]);
    await waitFor(() => refused.ending !== undefined, { what: 'the daemon to refuse to start' });
    return refused.stderr;
  };

  /**
   * An agent does not start with a state file of a machine with other memory. Virtual machines may get and lose memory at any time: a test
   * during which that has happened says nothing, and begins anew.
   */
  const whileMemoryStays = async (run: (bed: CriDaemonBed) => Promise<void>): Promise<void> => {
    for (;;) {
      const before = memoryOfNodes();
      const bed = openBed({ config: STATIC });
      try {
        await run(bed);
        return;
      } catch (error) {
        if (memoryOfNodes() === before) throw error;
        rmSync(join(bed.rootDir, STATE_FILE), { force: true });
        await closeBeds();
      }
    }
  };

  const keepsMemory = async (bed: CriDaemonBed) => {
    let daemon = await bed.start();
    bed.apply('own', {
      containers: [
        bed.shell('trap "exit 0" TERM; sleep 1000 & wait', {
          resources: { requests: RESOURCES, limits: RESOURCES },
        }),
      ],
    });
    const own = await daemon.running('own');
    const block = { numaAffinity: [0], type: 'memory', size: 48 * 2 ** 20 };
    const entries = { [own.metadata.uid]: { main: [block] } };
    expect(stateOf(bed)).toMatchObject({ policyName: 'Static', entries });
    expect(await bed.exec(own, ['cat', '/proc/1/status'])).toMatch(/^Mems_allowed_list:\s+0$/mu);

    await daemon.end('SIGKILL');
    daemon = await bed.start();
    await daemon.running('own');
    expect(stateOf(bed)).toMatchObject({ entries });
    expect(reserved(bed)).toBe(block.size);

    bed.withdraw('own');
    await waitFor(() => reserved(bed) === 0, { what: 'the memory to be free' });
    expect(stateOf(bed).entries).toBeUndefined();
  };

  const refusesOtherState = async (bed: CriDaemonBed) => {
    const daemon = await bed.start();
    await daemon.end();
    bed.configure({ memoryManagerPolicy: 'None' });
    expect(await refusal(bed)).toContain(
      'configured policy "None" differs from state checkpoint policy "Static", please drain this node and delete the memory manager checkpoint file',
    );
    bed.configure({ ...reserving('310Mi'), systemReserved: { memory: '210Mi' } });
    expect(await refusal(bed)).toContain('the expected machine state is different from the real one');
    bed.configure(reserving('1Gi'));
    expect(await refusal(bed)).toContain(
      'the total amount "1Gi" of type "memory" is not equal to the value "300Mi" determined by Node Allocatable feature',
    );
    bed.configure(STATIC);
  };

  test('keeps memory for a Guaranteed pod, also after the agent was killed', () =>
    whileMemoryStays(keepsMemory));

  test('does not start with another policy or another reservation than the one in its state file', () =>
    whileMemoryStays(refusesOtherState));
});
