/** The processes that the kernel killed because the whole machine, not one cgroup, was out of memory: from its log. */

export interface SystemOOM {
  readonly processName: string;
  readonly pid: number;
}

/** `6,27350,27249502261,-;MESSAGE`: priority, sequence number, microseconds since boot, flags. */
const RECORD = /^\d+,\d+,(\d+),[^;]*;(.*)$/;
/** Where a cgroup was out of memory, `oom_memcg=PATH` is in the place of `global_oom`. */
const SYSTEM_OOM = /^oom-kill:.*,global_oom,.*\btask=(.*),pid=(\d+),uid=\d+/;

/** The kills in the log after this time, in their order. */
export function systemOOMs(log: string, afterUs: number): readonly (SystemOOM & { readonly atUs: number })[] {
  return log.split('\n').flatMap((line) => {
    const [, at, message = ''] = RECORD.exec(line) ?? [];
    const [, processName, pid] = SYSTEM_OOM.exec(message) ?? [];
    if (processName === undefined || Number(at) <= afterUs) return [];
    return [{ processName, pid: Number(pid), atUs: Number(at) }];
  });
}

/** The kubelet's message of the event `SystemOOM`. */
export function systemOOMMessage({ processName, pid }: SystemOOM): string {
  return `System OOM encountered, victim process: ${processName}, pid: ${pid}`;
}

/** How many processes the kernel has killed because a cgroup or the whole machine was out of memory: from `/proc/vmstat`. */
export function oomKills(vmstat: string): number | undefined {
  const [, count] = /^oom_kill (\d+)$/m.exec(vmstat) ?? [];
  return count === undefined ? undefined : Number(count);
}
