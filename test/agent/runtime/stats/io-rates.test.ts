import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CpuRates } from '../../../../src/agent/runtime/stats/io-rates.ts';
import type { StatsProvider, SummaryOptions } from '../../../../src/agent/runtime/stats/stats-provider.ts';
import { container, SANDBOX, StatsBed } from './stats-bed.ts';

describe('io rates', () => {
  const GROUP = 'kubepods/burstable/poduid';

  let bed: StatsBed;
  let provider: StatsProvider;
  beforeEach(() => {
    bed = new StatsBed();
    bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] });
  });
  afterEach(() => bed.cleanUp());

  /** The I/O rate of the only pod. Two seconds pass between both summaries, in which `done` is called. */
  async function rate(done: () => void, options: SummaryOptions = {}): Promise<number | undefined> {
    provider = bed.open();
    const asked = provider.summary({ onlyCPUAndMemory: true, ioOverMs: 2000, ...options });
    done();
    await bed.clock.advance(2000);
    return (await asked).pods[0]?.io?.bytesPerSecond;
  }

  describe('on cgroup v2, the rate of I/O of a pod', () => {
    beforeEach(() => bed.cgroups.mountV2('cpu io memory pids'));

    const ioStat = (...lines: string[]) =>
      bed.write(`v2/${GROUP}/io.stat`, lines.map((line) => `${line}\n`).join(''));

    test('is what its cgroup has read and written on all devices', async () => {
      ioStat('8:0 rbytes=1000 wbytes=2000 rios=7 wios=9 dbytes=50000 dios=3');
      const done = () =>
        ioStat(
          '8:0 rbytes=1600 wbytes=2400 rios=900 wios=900 dbytes=90000 dios=4',
          '8:16 rbytes=0 wbytes=3000 rios=0 wios=4 dbytes=0 dios=0',
        );
      expect(await rate(done)).toBe((600 + 400 + 3000) / 2);
    });

    test('is zero if the pod never read or wrote anything', async () => {
      ioStat();
      expect(await rate(() => undefined)).toBe(0);
    });

    test('starts again when the cgroup of the pod is created again', async () => {
      ioStat('8:0 rbytes=1000 wbytes=2000');
      expect(await rate(() => ioStat('8:0 rbytes=0 wbytes=500'))).toBe(250);
    });

    test('is shown together with the pressure of I/O', async () => {
      ioStat();
      const line = 'avg10=2.50 avg60=0.00 avg300=0.00 total=5';
      bed.write(`v2/${GROUP}/io.pressure`, `some ${line}\nfull ${line}\n`);
      await rate(() => undefined);
      const [pod] = (await provider.summary()).pods;
      expect(pod?.io).toMatchObject({ psi: { some: { avg10: 2.5 } } });
      expect(pod?.io).not.toHaveProperty('bytesPerSecond');
    });

    test('is computed from its processes if the io controller is not enabled in its cgroup', async () => {
      bed.write(`v2/${GROUP}/id/cgroup.procs`, '10\n');
      bed.write('proc/10/io', 'read_bytes: 10\nwrite_bytes: 0\n');
      expect(await rate(() => bed.write('proc/10/io', 'read_bytes: 10\nwrite_bytes: 90\n'))).toBe(45);
    });

    test('is unknown if the cgroup does not count I/O or is gone', async () => {
      bed.write(`v2/${GROUP}/memory.current`, '1\n');
      expect(await rate(() => undefined)).toBeUndefined();
      ioStat('8:0 rbytes=1000 wbytes=2000');
      expect(await rate(() => rmSync(bed.cgroups.path('v2', GROUP), { recursive: true }))).toBeUndefined();
    });
  });

  describe('on cgroup v1, the rate of I/O of a pod', () => {
    beforeEach(() => {
      bed.cgroups.mountV1('memory', 'blkio');
      processes(`${GROUP}/sandbox`, 1);
      processes(`${GROUP}/id`, 10, 11);
      processes(`${GROUP}/id/below`, 12);
      for (const pid of [1, 10, 11, 12]) counted(pid, 0, 0);
    });

    const processes = (group: string, ...pids: number[]) =>
      bed.write(`memory/${group}/cgroup.procs`, pids.map((pid) => `${pid}\n`).join(''));
    /** `rchar` and `wchar` also count I/O of the page cache alone. */
    const counted = (pid: number, read: number, written: number) =>
      bed.write(
        `proc/${pid}/io`,
        `rchar: 777\nwchar: 777\nsyscr: 7\nsyscw: 7\nread_bytes: ${read}\nwrite_bytes: ${written}\ncancelled_write_bytes: 77\n`,
      );
    const ended = (pid: number) => rmSync(bed.cgroups.path(`proc/${pid}`), { recursive: true });

    test('is what all processes in its cgroup and the cgroups below have read and written', async () => {
      const done = () => {
        counted(10, 1000, 0);
        counted(11, 0, 200);
        counted(12, 30, 4);
      };
      expect(await rate(done)).toBe((1000 + 200 + 34) / 2);
    });

    test('includes processes that started since the last summary', async () => {
      const done = () => {
        processes(`${GROUP}/id`, 10, 11, 13);
        counted(13, 600, 0);
      };
      expect(await rate(done)).toBe(300);
    });

    test('counts the I/O of an ended child only once, although its parent takes it over', async () => {
      counted(11, 5000, 0);
      const done = () => {
        ended(11);
        counted(10, 5000 + 400, 0);
      };
      expect(await rate(done)).toBe(200);
    });

    test('is that of the remaining processes if a process ends whose parent is not in the pod', async () => {
      counted(11, 5000, 0);
      const done = () => {
        ended(11);
        counted(10, 400, 0);
      };
      expect(await rate(done)).toBe(200);
    });

    test('treats a process that reuses the ID of an ended process as a new process', async () => {
      counted(11, 5000, 0);
      expect(await rate(() => counted(11, 100, 0))).toBe(50);
    });

    test('is unknown without processes whose I/O the kernel counts', async () => {
      for (const pid of [1, 10, 11, 12]) ended(pid);
      expect(await rate(() => undefined)).toBeUndefined();
      expect(await rate(() => counted(10, 5, 5))).toBeUndefined();
    });

    test('does not include the I/O of other pods', async () => {
      bed.runs({ sandboxes: [SANDBOX], containers: [] });
      bed.pods[1] = { ...bed.pods[1]!, uid: 'other' };
      processes('kubepods/podother/sandbox', 20);
      counted(20, 0, 0);
      provider = bed.open();
      const asked = provider.summary({ ioOverMs: 1000 });
      counted(10, 100, 0);
      counted(20, 0, 7);
      await bed.clock.advance(1000);
      const rates = (await asked).pods.map(({ podRef, io }) => [podRef.uid, io?.bytesPerSecond]);
      expect(rates).toEqual([
        ['uid', 100],
        ['other', 7],
      ]);
    });

    test('of many pods is measured in several turns of the event loop', async () => {
      const uids = Array.from({ length: 30 }, (_, index) => `uid${index}`);
      bed.pods = uids.map((uid) => ({ ...bed.pods[0]!, uid }));
      for (const [index, uid] of uids.entries()) {
        processes(`kubepods/pod${uid}/sandbox`, 100 + index);
        counted(100 + index, 0, 0);
      }
      const asked = bed.open().summary({ onlyCPUAndMemory: true, ioOverMs: 1000 });
      while (bed.clock.armed === 0) await bed.clock.advance(0);
      for (const index of uids.keys()) counted(100 + index, index, 0);
      await bed.clock.advance(1000);
      expect((await asked).pods.map(({ io }) => io?.bytesPerSecond)).toEqual([...uids.keys()]);
    });

    describe('is not measured', () => {
      test('unless it is requested', async () => {
        const { pods } = await bed.summary({ onlyCPUAndMemory: true });
        expect(pods).toHaveLength(1);
        expect(pods[0]).not.toHaveProperty('io');
      });

      test('if the summary is of the node only', async () => {
        const asked = bed.open().summary({ onlyNode: true, ioOverMs: 2000 });
        expect((await asked).pods).toEqual([]);
        expect(bed.clock.armed).toBe(0);
      });

      test('after the caller has aborted: the other figures are there', async () => {
        const waits = new AbortController();
        const asked = bed.open().summary({ onlyCPUAndMemory: true, ioOverMs: 2000, signal: waits.signal });
        await bed.clock.advance(1000);
        waits.abort();
        expect((await asked).pods[0]).not.toHaveProperty('io');
        expect(bed.clock.armed).toBe(0);
      });

      test('after the provider was closed', async () => {
        provider = bed.open();
        const asked = provider.summary({ onlyCPUAndMemory: true, ioOverMs: 2000 });
        await bed.clock.advance(1000);
        await provider.close();
        expect((await asked).pods).toHaveLength(1);
        expect(bed.clock.armed).toBe(0);
      });
    });
  });

  test('without cgroups there is no I/O rate, and the summary does not wait for one', async () => {
    bed.write('mountinfo', '');
    const { pods } = await bed.summary({ onlyCPUAndMemory: true, ioOverMs: 2000 });
    expect(pods[0]).not.toHaveProperty('io');
    expect(bed.clock.armed).toBe(0);
  });
});

describe('cpu rates', () => {
  const SECOND_NS = 1e9;
  let rates: CpuRates;
  beforeEach(() => {
    rates = new CpuRates();
  });

  const rateAt = (nowMs: number, usageCoreNanoSeconds: number, name = 'pod') =>
    rates.withRate(name, { time: '', usageCoreNanoSeconds }, nowMs)?.usageNanoCores;

  test('the first figure has no rate; the second figure has the rate since the first', () => {
    expect(rateAt(0, 0)).toBeUndefined();
    expect(rateAt(2_000, SECOND_NS)).toBe(SECOND_NS / 2);
  });

  test('within a second the last rate stays, and the next rate covers the whole time', () => {
    rateAt(0, 0);
    rateAt(1_000, SECOND_NS);
    expect(rateAt(1_500, 3 * SECOND_NS)).toBe(SECOND_NS);
    expect(rateAt(3_000, 5 * SECOND_NS)).toBe(2 * SECOND_NS);
  });

  test.each([
    ['a usage that is lower than before', 2_000, 0],
    ['a clock that was set back', 500, 2 * SECOND_NS],
  ])('%s starts a new rate', (_what, nowMs, usage) => {
    rateAt(1_000, SECOND_NS);
    expect(rateAt(nowMs, usage)).toBeUndefined();
    expect(rateAt(nowMs + 1_000, usage + SECOND_NS)).toBe(SECOND_NS);
  });

  test('each name has its own rate', () => {
    rateAt(0, 0, 'a');
    expect(rateAt(1_000, SECOND_NS, 'b')).toBeUndefined();
  });

  test('a sample that was not used for ten minutes is dropped', () => {
    rateAt(0, 0, 'old');
    rateAt(1, 0, 'new');
    rates.forgetOld(600_001);
    expect(rateAt(600_001, SECOND_NS, 'old')).toBeUndefined();
    expect(rateAt(600_001, SECOND_NS, 'new')).toBeDefined();
  });

  test('figures without a usage pass unchanged', () => {
    expect(rates.withRate('pod', undefined, 0)).toBeUndefined();
    expect(rates.withRate('pod', { time: 't' }, 0)).toEqual({ time: 't' });
  });
});
