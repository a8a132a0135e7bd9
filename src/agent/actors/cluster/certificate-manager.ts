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
  type CertificateEvent,
  certificateMachine,
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
import { Timer } from '../../../system/timer.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor } from '../agent-actor.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';

/** A server, and the end of the connections to it. */
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
  /** Connects with the credentials that hold now. Certificates are asked for seldom: nothing stays connected for that. */
  readonly connect: () => ConnectedServer;
  /** The key is kept until there is a certificate, and the request has a name of its own. Default: a new key for each request. */
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
  /** The pair serves only to ask for the first one of the agent's own. */
  readonly mustRenew: boolean;
}

/** The clock of a machine may be set, and a machine may sleep: no timer is trusted for longer. */
const LONGEST_WAIT_MS = 60 * 60_000;

export class CertificateManager {
  /** There is a new certificate. */
  readonly changes: Observable<undefined>;
  readonly #changes = new Subject<undefined>();
  readonly #context: ActorContext;
  readonly #parts: CertificateManagerParts;
  readonly #actor: ActorRefFrom<typeof certificateMachine>;
  readonly #renewalTimer: Timer;
  readonly #validityTimer: Timer;
  readonly #issueTimer: Timer;
  #pair: CertificatePair | undefined;
  /** Of the request that was sent last. */
  #key = '';
  #submitted: SubmittedRequest | undefined;
  #waiting: AbortController | undefined;
  #connection: ConnectedServer | undefined;
  #isStopped = false;

  constructor(context: ActorContext, parts: CertificateManagerParts) {
    this.#context = context;
    this.#parts = parts;
    const { rotates, onGiveUp, kind } = parts;
    const { clock } = context;
    [this.#renewalTimer, this.#validityTimer, this.#issueTimer] = [
      new Timer(clock),
      new Timer(clock),
      new Timer(clock),
    ];
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
    this.#send({
      type: 'START',
      template,
      certificate: pair?.facts,
      mustRenew,
      at: clock.now(),
      random: random(),
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting?.abort();
    this.#disconnect();
    for (const timer of [this.#renewalTimer, this.#validityTimer, this.#issueTimer]) timer.disarm();
    if (this.#context.parent === undefined) this.#actor.stop();
  }

  /** What the certificate is to say has changed. */
  setTemplate(template: CertificateTemplate | undefined): void {
    this.#send({ type: 'TEMPLATE', template, at: this.#context.clock.now() });
  }

  /** Undefined while there is none that is valid. */
  current(): CertificatePair | undefined {
    const pair = this.#pair;
    return pair === undefined || isExpired(pair.facts, this.#context.clock.now()) ? undefined : pair;
  }

  get context(): CertificateContext {
    return this.#actor.getSnapshot().context;
  }

  /** What is waited for, since when, and why the last request failed. */
  describe(): string {
    const snapshot = this.#actor.getSnapshot();
    const { requestName, problem, since } = snapshot.context;
    const { Renewal } = snapshot.value as { readonly Renewal: string };
    const request = requestName === undefined ? '' : `, certificate signing request ${requestName}`;
    return `${Renewal} since ${rfc3339(since)}${request}${problem === undefined ? '' : `: ${problem}`}`;
  }

  /** In words that stay the same while the same is waited for. */
  awaited(): string {
    const { value, context } = this.#actor.getSnapshot();
    const { requestName, problem = 'it is being requested' } = context;
    const { Renewal } = value as { readonly Renewal: string };
    if (Renewal !== 'AwaitingCertificate' || requestName === undefined) return problem;
    return `the certificate signing request ${requestName} waits to be approved and signed`;
  }

  #send(event: CertificateEvent): void {
    if (!this.#isStopped) this.#actor.send(event);
  }

  #provide(): typeof certificateMachine {
    const { logger, measurements } = this.#context;
    const { kind, onGiveUp } = this.#parts;
    return certificateMachine.provide({
      actions: {
        sendRequest: ({ context }) => void this.#request(context),
        awaitCertificate: () => void this.#awaitCertificate(),
        stopWaiting: () => {
          this.#waiting?.abort();
          this.#issueTimer.disarm();
        },
        armRenewal: ({ context }) => this.#arm(this.#renewalTimer, context.renewAt, 'RENEWAL_TIMER'),
        armRetry: ({ context }) => this.#arm(this.#renewalTimer, context.retryAt, 'RENEWAL_TIMER'),
        disarmRenewal: () => this.#renewalTimer.disarm(),
        armValidity: ({ context }) =>
          this.#arm(this.#validityTimer, validityEnd(context, this.#now()), 'VALIDITY_TIMER'),
        reportIssue: ({ context }) => {
          const until = rfc3339(context.certificate?.notAfter ?? 0);
          logger.info({ kind, until }, `There is a new ${kind} certificate`);
          this.#changes.next(undefined);
        },
        reportFailure: ({ context: { problem, failures } }) => {
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

  #now(): number {
    return this.#context.clock.now();
  }

  #arm(timer: Timer, dueAt: number, type: 'RENEWAL_TIMER' | 'VALIDITY_TIMER'): void {
    if (dueAt === Infinity) return;
    const delayMs = Math.min(Math.max(0, dueAt - this.#now()), LONGEST_WAIT_MS);
    timer.arm(delayMs, () => this.#send({ type, at: this.#now() }));
  }

  async #request({ template }: CertificateContext): Promise<void> {
    const { keptKey, purpose, connect, kind, sign = signingRequestApart } = this.#parts;
    try {
      if (template === undefined) throw new Error('there is nothing to ask for');
      this.#key = (await keptKey?.get()) ?? newPrivateKey();
      const request = await sign({ template, key: this.#key });
      const name = keptKey && requestNameOf(this.#key, template, purpose);
      if (this.#isStopped) return;
      this.#disconnect();
      this.#connection = connect();
      this.#submitted = await submitRequest(this.#connection.main, {
        request,
        purpose,
        name,
      });
      this.#context.logger.info(
        { kind, request: this.#submitted.name },
        'A certificate signing request waits to be approved and signed',
      );
      this.#send({ type: 'REQUESTED', name: this.#submitted.name, at: this.#now() });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #awaitCertificate(): Promise<void> {
    const { store, keptKey, onIssued, kind } = this.#parts;
    const { clock, random, measurements } = this.#context;
    const submitted = this.#submitted;
    const key = this.#key;
    const server = this.#connection?.main;
    if (submitted === undefined || server === undefined) return;
    const waiting = new AbortController();
    this.#waiting = waiting;
    const limitMs = keptKey === undefined ? ISSUE_TIMEOUT_MS : NAMED_ISSUE_TIMEOUT_MS;
    this.#issueTimer.arm(limitMs, () => waiting.abort(tooLate(submitted.name, limitMs)));
    try {
      const cert = await issuedCertificate(server, submitted, { clock, signal: waiting.signal });
      const pair = await store.update(cert, key, clock.now());
      await onIssued?.(pair);
      if (waiting.signal.aborted) return;
      if (this.#pair !== undefined) measurements?.rotated(kind, clock.now() - this.#pair.facts.notBefore);
      this.#pair = pair;
      this.#disconnect();
      this.#send({ type: 'ISSUED', certificate: pair.facts, at: this.#now(), random: random() });
    } catch (error) {
      const { aborted } = waiting.signal;
      const reason: unknown = waiting.signal.reason;
      // Aborted for another reason: the chart does not wait any more.
      if (!aborted || reason instanceof StateletError) this.#fail(aborted ? reason : error);
    }
  }

  #disconnect(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #fail(error: unknown): void {
    this.#disconnect();
    const isRefused = error instanceof ApiError && [401, 403, 404].includes(error.status);
    const problem = errorMessage(error);
    this.#send({
      type: 'REQUEST_FAILED',
      problem,
      isRefused,
      at: this.#now(),
      random: this.#context.random(),
    });
  }
}

/** When the state of the region Validity may change. */
function validityEnd({ certificate, missingSince }: CertificateContext, now: number): number {
  return certificate === undefined || isExpired(certificate, now)
    ? missingSince + GIVE_UP_AFTER_MS
    : certificate.notAfter + 1;
}

function tooLate(name: string, limitMs: number): StateletError {
  const problem = `was not approved and signed within ${limitMs / 60_000} minutes`;
  return new StateletError('DeadlineExceeded', `the certificate signing request ${name} ${problem}`);
}
