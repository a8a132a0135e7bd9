import { writePayload } from '../../../../src/agent/runtime/volumes/kinds/atomic-writer.ts';
import { silentLogger as logger } from '../../../support/silent-logger.ts';
import { payloadOf } from './payload.ts';
import { OWN_TASK, type WriteTask } from './volume-task.ts';

const { volume, files } = JSON.parse(OWN_TASK) as WriteTask;
await writePayload(volume, payloadOf(files), { fsGroup: 34, logger }, Date.UTC(2030, 0, 2));
