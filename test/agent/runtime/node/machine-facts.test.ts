import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { release, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  containerFilesLabel,
  readHugePages,
  readMachineFacts,
  readMaxPIDs,
  readNodeInfo,
} from '../../../../src/agent/runtime/node/machine-facts.ts';

describe('machine facts', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'machine-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function file(path: string, text: string | BigUint64Array = ''): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }

  test('a machine without any of these features', async () => {
    expect(await readMachineFacts(2, root)).toEqual({
      memoryCapacityBytes: totalmem(),
      swapCapacityBytes: 0,
      pageSizeBytes: 4096,
      hugePageSizes: [],
      swapController: false,
      maskedPaths: [],
      appArmor: false,
      selinux: false,
    });
  });

  test('huge pages, by the names that cgroups give their sizes', async () => {
    file('sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages');
    file('sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages');
    expect((await readMachineFacts(1, root)).hugePageSizes.toSorted()).toEqual(['1GB', '2MB']);
  });

  test('how many huge pages there are, by the bytes of one, smaller ones first', async () => {
    file('sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages', '0\n');
    file('sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages', '16\n');
    expect([...(await readHugePages(root))]).toEqual([
      [2 ** 21, 16],
      [2 ** 30, 0],
    ]);
    expect(await readHugePages(join(root, 'none'))).toEqual(new Map());
  });

  test('as many processes as both bounds of the kernel allow', async () => {
    file('proc/sys/kernel/pid_max', '4194304\n');
    file('proc/sys/kernel/threads-max', '63000\n');
    expect(await readMaxPIDs(root)).toBe(63_000);
  });

  test('the swap controller of cgroup v1', async () => {
    file('sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
    expect((await readMachineFacts(1, root)).swapController).toBe(true);
    expect((await readMachineFacts(2, root)).swapController).toBe(false);
  });

  test('the swap controller of cgroup v2, in the cgroup that we are in', async () => {
    file('proc/self/cgroup', '0::/system.slice/agent\n');
    file('sys/fs/cgroup/system.slice/agent/memory.swap.max', 'max\n');
    expect((await readMachineFacts(2, root)).swapController).toBe(true);
    file('proc/self/cgroup', '0::/\n');
    expect((await readMachineFacts(2, root)).swapController).toBe(false);
  });

  test('the swap controller of cgroup v2, in another cgroup, where we are in the root, which has no such file', async () => {
    file('proc/self/cgroup', '0::/\n');
    file('sys/fs/cgroup/cgroup.procs', '1\n');
    file('sys/fs/cgroup/init.scope/memory.max', 'max\n');
    expect((await readMachineFacts(2, root)).swapController).toBe(false);
    file('sys/fs/cgroup/kubepods/memory.swap.max', 'max\n');
    expect((await readMachineFacts(2, root)).swapController).toBe(true);
  });

  test('all swap of the machine, and the size of its pages', async () => {
    file('proc/meminfo', 'MemTotal:  100 kB\nSwapTotal:       2048 kB\nSwapFree:  1 kB\n');
    const pairs = [33n, 4096n, 6n, 65_536n, 0n, 0n];
    file('proc/self/auxv', new BigUint64Array(pairs));
    expect(await readMachineFacts(2, root)).toMatchObject({
      swapCapacityBytes: 2_097_152,
      pageSizeBytes: 65_536,
    });
    expect((await readMachineFacts(2)).pageSizeBytes).toBe(Number(execFileSync('getconf', ['PAGE_SIZE'])));
  });

  test('the files with the temperature of CPUs are to be masked', async () => {
    file('sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count');
    file('sys/devices/system/cpu/cpu1/online');
    file('sys/devices/system/cpu/cpufreq/thermal_throttle/count');
    expect((await readMachineFacts(2, root)).maskedPaths).toEqual([
      '/sys/devices/system/cpu/cpu0/thermal_throttle',
    ]);
  });

  test.each([
    ['Y\n', true],
    ['N\n', false],
  ])('AppArmor says %j', async (text, wanted) => {
    file('sys/module/apparmor/parameters/enabled', text);
    expect((await readMachineFacts(2, root)).appArmor).toBe(wanted);
  });

  test.each([
    ['system_u:system_r:container_runtime_t:s0\0', true],
    ['kernel\0', false],
  ])('SELinux with the label %j', async (label, wanted) => {
    file('proc/self/attr/current', label);
    expect((await readMachineFacts(2, root)).selinux).toBe(false);
    file('sys/fs/selinux/enforce', '0');
    expect((await readMachineFacts(2, root)).selinux).toBe(wanted);
  });

  test('the label of files of containers is that of the policy in force', async () => {
    file('proc/self/attr/current', 'system_u:system_r:container_runtime_t:s0\0');
    file('etc/selinux/config', '# what is loaded\nSELINUX=permissive\nSELINUXTYPE=mls\n');
    const contexts = (type: string) =>
      `process = "system_u:system_r:container_t:s0"\ncontent = "system_u:object_r:virt_var_lib_t:s0"\nfile = "system_u:object_r:${type}:s0"\n`;
    file('etc/selinux/targeted/contexts/lxc_contexts', contexts('other_t'));
    file('etc/selinux/mls/contexts/lxc_contexts', contexts('container_file_t'));
    expect(await containerFilesLabel(root)).toBeUndefined();
    file('sys/fs/selinux/enforce', '0');
    expect(await containerFilesLabel(root)).toBe('system_u:object_r:container_file_t:s0');
  });
});

describe('node info', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'statelet-node-info-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function file(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }

  test('the ids of the machine, its operating system and its swap', async () => {
    file('etc/machine-id', '0123456789abcdef\n');
    file('sys/class/dmi/id/product_uuid', '11111111-2222-3333-4444-555555555555\n');
    file('proc/sys/kernel/random/boot_id', 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee\n');
    file(
      'etc/os-release',
      'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\n',
    );
    file('proc/meminfo', 'MemTotal:       8000000 kB\nSwapTotal:       1048576 kB\n');
    expect(await readNodeInfo(root)).toEqual({
      machineID: '0123456789abcdef',
      systemUUID: '11111111-2222-3333-4444-555555555555',
      bootID: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
      kernelVersion: release(),
      osImage: 'Debian GNU/Linux 13 (trixie)',
      swapBytes: 2 ** 30,
    });
  });

  test('a pipe in place of a file, or a link into the kernel’s log, does not block', async () => {
    file('etc/os-release', 'PRETTY_NAME=Linux\n');
    execFileSync('mkfifo', [join(root, 'etc/machine-id')]);
    file('var/lib/dbus/machine-id', 'fedcba9876543210\n');
    rmSync(join(root, 'etc/os-release'));
    symlinkSync('/proc/kmsg', join(root, 'etc/os-release'));
    expect(await readNodeInfo(root)).toMatchObject({ machineID: 'fedcba9876543210', osImage: 'Linux' });
  });

  test('other places, where the usual files are missing or empty', async () => {
    file('etc/machine-id', '\n');
    file('var/lib/dbus/machine-id', 'fedcba9876543210\n');
    file('proc/device-tree/vm,uuid', '99999999-2222-3333-4444-555555555555\0');
    file('usr/lib/os-release', "PRETTY_NAME='Small Linux'\n");
    expect(await readNodeInfo(root)).toMatchObject({
      machineID: 'fedcba9876543210',
      systemUUID: '99999999-2222-3333-4444-555555555555',
      osImage: 'Small Linux',
    });
  });

  test('a machine without identity files has empty ids', async () => {
    expect(await readNodeInfo(root)).toMatchObject({
      machineID: '',
      systemUUID: '',
      bootID: '',
      osImage: 'Linux',
      swapBytes: 0,
    });
  });
});
