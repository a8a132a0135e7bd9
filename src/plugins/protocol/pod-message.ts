/** core/v1 Pod in protocol buffers, with all its fields. */
import type { Pod } from '../../types/kubernetes.ts';
import type { MessageType } from '../../system/protobuf.ts';
import { JsonMessages } from './json-message.ts';
import { JSON_VALUES } from './json-values.ts';
import fields from './pod-fields.json' with { type: 'json' };

const messages = new JsonMessages(fields.messages, JSON_VALUES);

/** What a pod's JSON has beside the fields of the message, such as `kind`, is not written. */
export const podMessage = messages.message('Pod') as unknown as MessageType<Pod>;
