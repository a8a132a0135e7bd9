import { expect, test } from '@jest/globals';
import { CpuManager } from '../../../../src/agent/runtime/cpus/cpu-manager.ts';
import { machine, NO_CPU_OPTIONS } from '../../../support/cpu-machine.ts';
import { testPod } from '../../../support/pods.ts';

test('a pod is complete only when the file has its CPUs: the next agent gives them to no other pod', async () => {
  let text: string | undefined;
  const file = {
    path: 'cpu_manager_state',
    read: () => text,
    replace: (given: string) => {
      text = given;
      return Promise.resolve();
    },
  };
  const open = () =>
    CpuManager.open(file, { topology: machine('one socket'), options: NO_CPU_OPTIONS, reserved: [0] });
  const amounts = { cpu: '2', memory: '1Mi' };
  const container = { name: 'main', image: 'app:1', resources: { requests: amounts, limits: amounts } };
  const pod = { ...testPod({ uid: 'uid-a' }), spec: { containers: [container] } };
  const cpus = open();
  cpus.allocate(pod, container, undefined);
  const complete = cpus.complete();
  expect(complete).toBeInstanceOf(Promise);
  await complete;
  expect(open().exclusive('uid-a', 'main')).toEqual(cpus.exclusive('uid-a', 'main'));
  expect(cpus.complete()).toBeUndefined();
});
