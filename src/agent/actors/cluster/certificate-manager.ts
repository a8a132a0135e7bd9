/** The actor of one certificate of the node, and its effects: requests at the API server, the store, timers. */
import { type Observable, Subject } from 'rxjs';
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import { type CertificatePair, newPrivateKey } from '../../cluster/credentials/certificate-pair.ts';
import {
  issuedCertificate,
  submitRequest,
  type SubmittedRequest,
} from '../../cluster/credentials/certificate-requests.ts';
import {
  type CertificateStore,
  type KeptKey,
  requestNameOf,
} from '../../cluster/credentials/certificate-store.ts';
import {
  signingRequestApart,
  type SigningRequestInput,
} from '../../cluster/credentials/ask-credentials-process.ts';
import { ApiError } from '../../cluster/service/api-error.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import {
  type CertificateContext,
  certificateMachine,
  type Issued,
  type RequestFailure,
  type Sent,
  type Timed,
} from '../../machines/certificate-machine.ts';
import {
  type CertificatePurpose,
  type CertificateTemplate,
  GIVE_UP_AFTER_MS,
  isExpired,
  ISSUE_TIMEOUT_MS,
  NAMED_ISSUE_TIMEOUT_MS,
} from '../../policies/cluster/certificates.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import { sleep, withDeadline } from '../../../system/timer.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor } from '../agent-actor.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';

/** A server, and how to close the connections to it. */
export interface ConnectedServer {
  readonly main: ApiServer;
  close(): void;
}

export interface CertificateManagerParts {
  /** For logs. */
  readonly kind: 'client' | 'serving';
  readonly purpose: CertificatePurpose;
  readonly store: CertificateStore;
  readonly rotates: boolean;
  /** Called when the agent has had no valid certificate for too long. Without it the agent goes on. */
  readonly onGiveUp?: () => void;
  /** Connects with the present credentials. Certificates are requested seldom, so no connection stays open for them. */
  readonly connect: () => ConnectedServer;
  /** Keeps the key until there is a certificate. The request then has a fixed name. Default: a new key for each request. */
  readonly keptKey?: KeptKey;
  /** Makes a certificate signing request. Default: in a process of its own. */
  readonly sign?: (input: SigningRequestInput) => Promise<string>;
  /** Called before others hear of a new certificate. */
  readonly onIssued?: (pair: CertificatePair) => Promise<void>;
}

export interface CertificateStart {
  /** Undefined: there is nothing to ask for yet. */
  readonly template: CertificateTemplate | undefined;
  readonly pair: CertificatePair | undefined;
  /** The pair only serves to request the agent's own first certificate. */
  readonly mustRenew: boolean;
}

/** No timer runs longer than this: the machine may sleep, or its clock may be set. */
const LONGEST_WAIT_MS = 60 * 60_000;

export class CertificateManager {
  /** There is a new certificate. */
  readonly changes: Observable<undefined>;
  readonly #changes = new Subject<undefined>();
  readonly #context: ActorContext;
  readonly #parts: CertificateManagerParts;
  readonly #actor: ActorRefFrom<typeof certificateMachine>;
  #pair: CertificatePair | undefined;
  /** Of the request that was sent last. */
  #key = '';
  #submitted: SubmittedRequest | undefined;
  #connection: ConnectedServer | undefined;

  constructor(context: ActorContext, parts: CertificateManagerParts) {
    this.#context = context;
    this.#parts = parts;
    const { rotates, onGiveUp, kind } = parts;
    this.changes = this.#changes.asObservable();
    this.#actor = agentActor(context, this.#provide(), {
      id: `${kind} certificate`,
      title: `the ${kind} certificate`,
      input: { rotates, isVital: onGiveUp !== undefined },
    });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  start({ template, pair, mustRenew }: CertificateStart): void {
    const { clock, random } = this.#context;
    this.#pair = pair;
    this.#actor.start();
    const certificate = pair?.facts;
    const [at, chance] = [clock.now(), random()];
    this.#actor.send({ type: 'START', template, certificate, mustRenew, at, random: chance });
  }

  stop(): void {
    this.#actor.send({ type: 'STOP' });
    this.#disconnect();
  }

  /** What the certificate is to say has changed. */
  setTemplate(template: CertificateTemplate | undefined): void {
    this.#actor.send({ type: 'TEMPLATE', template, at: this.#context.clock.now() });
  }

  /** Undefined while there is none that is valid. */
  current(): CertificatePair | undefined {
    const pair = this.#pair;
    return pair === undefined || isExpired(pair.facts, this.#context.clock.now()) ? undefined : pair;
  }

  get context(): CertificateContext {
    return this.#actor.getSnapshot().context;
  }

  /** What the certificate waits for, since when, and why the last request failed. */
  describe(): string {
    const snapshot = this.#actor.getSnapshot();
    const { requestName, problem, since } = snapshot.context;
    const { Renewal } = snapshot.value as { readonly Renewal: string };
    const request = requestName === undefined ? '' : `, certificate signing request ${requestName}`;
    return `${Renewal} since ${rfc3339(since)}${request}${problem === undefined ? '' : `: ${problem}`}`;
  }

  /** As `describe`, without what changes during one wait. */
  awaited(): string {
    const { value, context } = this.#actor.getSnapshot();
    const { requestName, problem = 'it is being requested' } = context;
    const { Renewal } = value as { readonly Renewal: string };
    if (Renewal !== 'AwaitingCertificate' || requestName === undefined) return problem;
    return `the certificate signing request ${requestName} waits to be approved and signed`;
  }

  #provide(): typeof certificateMachine {
    const { clock, random, logger, measurements } = this.#context;
    const { kind, onGiveUp } = this.#parts;
    const failureOf = (error: unknown): RequestFailure => ({
      problem: errorMessage(error),
      isRefused: error instanceof ApiError && [401, 403, 404].includes(error.status),
      at: clock.now(),
      random: random(),
    });
    const until = (timeIn: (context: CertificateContext) => number) =>
      requestActor((context: CertificateContext, signal) => this.#until(timeIn(context), signal), failureOf);
    return certificateMachine.provide({
      actors: {
        sendRequest: requestActor((context, signal) => this.#request(context, signal), failureOf),
        awaitCertificate: requestActor((_, signal) => this.#issued(signal), failureOf),
        untilRenewal: until(({ renewAt }) => renewAt),
        untilRetry: until(({ retryAt }) => retryAt),
        untilExpiry: until(({ certificate }) => (certificate?.notAfter ?? 0) + 1),
        untilGivenUp: until(({ missingSince }) => missingSince + GIVE_UP_AFTER_MS),
      },
      actions: {
        reportIssue: ({ context }) => {
          const until = rfc3339(context.certificate?.notAfter ?? 0);
          logger.info({ kind, until }, `There is a new ${kind} certificate`);
          this.#changes.next(undefined);
        },
        reportFailure: ({ context: { problem, failures } }) => {
          this.#disconnect();
          measurements?.renewalFailed(kind);
          logger.warn(
            { kind, problem, failures },
            `No ${kind} certificate was issued; it is asked for again`,
          );
        },
        reportMissing: () => logger.error({ kind }, `The ${kind} certificate has expired`),
        giveUp: ({ context: { problem } }) => {
          const minutes = GIVE_UP_AFTER_MS / 60_000;
          logger.error(
            { kind, problem },
            `No valid ${kind} certificate for ${minutes} minutes, and the server refuses one`,
          );
          onGiveUp?.();
        },
      },
    });
  }

  async #until(at: number, signal: AbortSignal): Promise<Timed> {
    const { clock } = this.#context;
    do await sleep(clock, Math.min(Math.max(0, at - clock.now()), LONGEST_WAIT_MS), signal);
    while (clock.now() < at);
    return { at: clock.now() };
  }

  async #request({ template }: CertificateContext, signal: AbortSignal): Promise<Sent> {
    const { keptKey, purpose, connect, kind, sign = signingRequestApart } = this.#parts;
    if (template === undefined) throw new Error('there is nothing to ask for');
    this.#key = (await keptKey?.get()) ?? newPrivateKey();
    const request = await sign({ template, key: this.#key });
    const named = keptKey && requestNameOf(this.#key, template, purpose);
    signal.throwIfAborted();
    this.#disconnect();
    this.#connection = connect();
    this.#submitted = await submitRequest(this.#connection.main, { request, purpose, name: named });
    const { name } = this.#submitted;
    this.#context.logger.info(
      { kind, request: name },
      'A certificate signing request waits to be approved and signed',
    );
    return { name, at: this.#context.clock.now() };
  }

  async #issued(signal: AbortSignal): Promise<Issued> {
    const { store, keptKey, onIssued, kind } = this.#parts;
    const { clock, random, measurements } = this.#context;
    const [submitted, server, key] = [this.#submitted, this.#connection?.main, this.#key];
    if (submitted === undefined || server === undefined) throw new Error('nothing has been asked for');
    const limitMs = keptKey === undefined ? ISSUE_TIMEOUT_MS : NAMED_ISSUE_TIMEOUT_MS;
    const issue = async (limit: AbortSignal): Promise<Issued> => {
      try {
        const cert = await issuedCertificate(server, submitted, { clock, signal: limit });
        const pair = await store.update(cert, key, clock.now());
        await onIssued?.(pair);
        limit.throwIfAborted();
        if (this.#pair !== undefined) measurements?.rotated(kind, clock.now() - this.#pair.facts.notBefore);
        this.#pair = pair;
        this.#disconnect();
        return { certificate: pair.facts, at: clock.now(), random: random() };
      } catch (error) {
        throw limit.aborted ? limit.reason : error;
      }
    };
    return withDeadline(clock, limitMs, signal, issue, () => tooLate(submitted.name, limitMs));
  }

  #disconnect(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}

function tooLate(name: string, limitMs: number): StateletError {
  const problem = `was not approved and signed within ${limitMs / 60_000} minutes`;
  return new StateletError('DeadlineExceeded', `the certificate signing request ${name} ${problem}`);
}
