import { csiManagerOn, unstaged } from './csi-managers.ts';
import { mountAll, removeAll } from './volume-managers.ts';
import { type CsiTask, OWN_TASK } from './volume-task.ts';

const { task, rootDir, pod, csiSocket, isBlock } = JSON.parse(OWN_TASK) as CsiTask;
const { manager, close } = csiManagerOn(rootDir, csiSocket, { isBlock });
if (task === 'mount') await mountAll(manager, pod);
else {
  await removeAll(manager, pod);
  await unstaged(rootDir);
}
close();
