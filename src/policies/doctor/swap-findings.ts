import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface SwapFacts {
  /** Files and devices that the machine swaps to. */
  readonly devices: Reading<readonly string[]>;
  readonly failSwapOn: boolean;
  readonly swapBehavior: string;
}

const { ok, warning, unread } = findingsOf('swap');

export function swapFindings({ devices, failSwapOn, swapBehavior }: SwapFacts): readonly Finding[] {
  if ('problem' in devices) return [unread('/proc/swaps', devices, 'mount /proc')];
  if (devices.value.length === 0) return [ok('off')];
  const where = devices.value.join(', ');
  const use = swapBehavior === 'LimitedSwap' ? 'Burstable pods use it' : 'pods do not use it';
  if (!failSwapOn) return [ok(`on (${where}), ${use} (memorySwap.swapBehavior)`)];
  return [
    warning(
      `on (${where}), and failSwapOn is true: the kubelet would not start so; Statelet does, and ${use}`,
      'swapoff -a, and take the swap out of /etc/fstab; or set failSwapOn: false',
    ),
  ];
}

/** The first column of `/proc/swaps`, below its heading. */
export function swapDevices(text: string): readonly string[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => /^\S+/u.exec(line)?.[0] ?? []);
}
