/** core/v1 Pod in protocol buffers, with all its fields. */
import { rfc3339, unixMs } from '../../policies/formats/time.ts';
import {
  bytes,
  field,
  int,
  message,
  type MessageType,
  string,
  type ValueType,
} from '../../../system/protobuf.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { JsonMessages } from './json-message.ts';
import fields from './pod-fields.json' with { type: 'json' };

const MS_PER_SECOND = 1000;

/** Its zero is written: without seconds it would be no time at all. */
const seconds = { ...int, zero: undefined };

const timestamp = message<{ readonly seconds?: number | undefined }>({ seconds: field(1, seconds) });

/** A text of RFC 3339 in whole seconds, like the API server's. A message without fields stands for no time: null in JSON. */
const time: ValueType<string | null> = {
  wireType: timestamp.wireType,
  zero: null,
  read: (reader) => {
    const { seconds } = timestamp.read(reader);
    return seconds === undefined ? null : rfc3339(seconds * MS_PER_SECOND);
  },
  write: (writer, text) => {
    const seconds = Math.floor(unixMs(text ?? '') / MS_PER_SECOND);
    timestamp.write(writer, Number.isFinite(seconds) ? { seconds } : {});
  },
};

const quantityMessage = message<{ readonly text: string }>({ text: field(1, string) });

/** `100m`. Manifests may have a number instead. */
const quantity: ValueType<string | number> = {
  wireType: quantityMessage.wireType,
  zero: undefined,
  read: (reader) => quantityMessage.read(reader).text,
  write: (writer, value) => quantityMessage.write(writer, { text: String(value) }),
};

const TEXT = 1;

const eitherMessage = message<{ readonly type: number; readonly number: number; readonly text: string }>({
  type: field(1, int),
  number: field(2, int),
  text: field(3, string),
});

const intOrString: ValueType<number | string> = {
  wireType: eitherMessage.wireType,
  zero: undefined,
  read: (reader) => {
    const { type, number, text } = eitherMessage.read(reader);
    return type === TEXT ? text : number;
  },
  write: (writer, value) => {
    const either =
      typeof value === 'number'
        ? { type: 0, number: value, text: '' }
        : { type: TEXT, number: 0, text: value };
    eitherMessage.write(writer, either);
  },
};

const rawMessage = message<{ readonly raw: Buffer }>({ raw: field(1, bytes) });

/** `managedFields`: JSON within the message. */
const fieldsV1: ValueType<unknown> = {
  wireType: rawMessage.wireType,
  zero: undefined,
  read: (reader) => JSON.parse(rawMessage.read(reader).raw.toString('utf8')) as unknown,
  write: (writer, value) => rawMessage.write(writer, { raw: Buffer.from(JSON.stringify(value)) }),
};

/** Messages that are a text, a number or null in JSON. */
const JSON_VALUES: Readonly<Record<string, ValueType<never>>> = {
  Time: time as ValueType<never>,
  Quantity: quantity as ValueType<never>,
  IntOrString: intOrString as ValueType<never>,
  FieldsV1: fieldsV1 as ValueType<never>,
};

const messages = new JsonMessages(fields.messages, JSON_VALUES);

/** What a pod's JSON has beside the fields of the message, such as `kind`, is not written. */
export const podMessage = messages.message('Pod') as unknown as MessageType<Pod>;
