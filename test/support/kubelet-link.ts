/** A link named `kubelet` that starts the agent in the kubelet's place. */
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { BIN } from './built.ts';
import { type Launcher, THIS_MACHINE } from './launcher.ts';

/** Makes the link in the folder, and returns its path. */
export function makeKubeletLink(folder: string): string {
  const link = join(folder, 'kubelet');
  symlinkSync(BIN, link);
  return link;
}

/** Starts the link where a daemon would start the program with `run`. */
export function launcherOf(link: string): Launcher {
  return {
    ...THIS_MACHINE,
    spawn: (node, args, options) => {
      const place = args.indexOf(BIN);
      return THIS_MACHINE.spawn(node, [...args.slice(0, place), link, ...args.slice(place + 2)], options);
    },
  };
}
