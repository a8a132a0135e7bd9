/** The interface of the judges and of the history to a simulated API server. */
import type { Collection, ObjectReference } from '../../agent/cluster/service/api-resources.ts';
import type { ApiVerb } from './node-rights.ts';

/** A request of an agent. */
export interface RequestUnderWay {
  readonly verb: ApiVerb;
  readonly target: Collection | ObjectReference;
  readonly connection: number;
  /** The client does not wait for the answer any more. */
  readonly abandoned: boolean;
}

export interface ApiWitness {
  requestBegan?(request: RequestUnderWay): void;
  /** The server carries the request out now. Changes of the store that follow at once are its effect. */
  requestLands?(request: RequestUnderWay): void;
  /** `answer`: `done`, or the kind of the error. An abandoned request ends when it is carried out, or never can be. */
  requestEnded?(request: RequestUnderWay, answer: string): void;
}
