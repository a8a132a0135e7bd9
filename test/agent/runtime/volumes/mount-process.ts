import { managerOn, mountAll, removeAll } from './volume-managers.ts';
import { OWN_TASK, type PodTask } from './volume-task.ts';

const { task, rootDir, pod } = JSON.parse(OWN_TASK) as PodTask;
await (task === 'mount' ? mountAll : removeAll)(managerOn(rootDir), pod);
