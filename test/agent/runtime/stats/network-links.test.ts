import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StatsBed } from './stats-bed.ts';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
});
afterEach(() => bed.cleanUp());

function link(name: string, files: Readonly<Record<string, string>>, isDevice = true): void {
  if (isDevice) bed.write(`sys/class/net/${name}/device/vendor`, '0x1af4\n');
  for (const [file, text] of Object.entries(files)) bed.write(`sys/class/net/${name}/${file}`, `${text}\n`);
}

test('the interfaces of devices are listed, with the state of their links', async () => {
  link('eth0', { flags: '0x1003', carrier: '1', operstate: 'up' });
  link('eth1', { flags: '0x1003', carrier: '0', operstate: 'down' });
  link('eth2', { flags: '0x1002', operstate: 'down' });
  bed.write('sys/class/net/bond0/bonding/mode', '');
  link('cni0', { flags: '0x1003', carrier: '0', operstate: 'down' }, false);
  expect(await bed.open().networkLinks()).toEqual([
    { name: 'bond0', isUp: true, operState: 'unknown' },
    { name: 'eth0', isUp: true, carrier: true, operState: 'up' },
    { name: 'eth1', isUp: true, carrier: false, operState: 'down' },
    { name: 'eth2', isUp: false, operState: 'down' },
  ]);
});

test('a machine without such interfaces has none', async () => {
  expect(await bed.open().networkLinks()).toEqual([]);
});
