import type { RegistrationClient } from '../../src/agent/plugins/protocol/registration-client.ts';
import type { PluginInfo } from '../../src/agent/plugins/protocol/service-methods.ts';

export const RSS_INFO: PluginInfo = {
  type: 'EvictionPlugin',
  name: 'rss',
  endpoint: '',
  supportedVersions: ['v1alpha1'],
};

interface Held {
  readonly call: 'GetInfo' | 'NotifyRegistrationStatus';
  readonly resolve: (info: PluginInfo) => void;
  readonly reject: (error: Error) => void;
}

/** The registration service of one plugin, which answers when the test says so. */
export class FakeRegistration {
  /** What it was told. */
  readonly told: { readonly registered: boolean; readonly error: string }[] = [];
  #held: Held[] = [];
  #opened = 0;
  #closed = 0;

  /** Calls that wait for an answer. */
  get pending(): number {
    return this.#held.length;
  }

  get waitsFor(): string | undefined {
    return this.#held[0]?.call;
  }

  /** Clients that are open. */
  get connections(): number {
    return this.#opened - this.#closed;
  }

  /** Clients that were opened. */
  get tries(): number {
    return this.#opened;
  }

  open(): RegistrationClient {
    this.#opened += 1;
    return {
      getInfo: (signal) => this.#hold('GetInfo', signal),
      notifyRegistrationStatus: async (status, signal) => {
        this.told.push(status);
        await this.#hold('NotifyRegistrationStatus', signal);
      },
      close: () => void (this.#closed += 1),
    };
  }

  answer(info: Partial<PluginInfo> = {}): void {
    this.#take('GetInfo').resolve({ ...RSS_INFO, ...info });
  }

  hear(): void {
    this.#take('NotifyRegistrationStatus').resolve(RSS_INFO);
  }

  fail(problem: string): void {
    this.#take(this.waitsFor).reject(new Error(problem));
  }

  #take(call: string | undefined): Held {
    const held = this.#held.shift();
    if (held === undefined || held.call !== call)
      throw new Error(`the plugin is not asked ${call ?? 'anything'}`);
    return held;
  }

  #hold(call: Held['call'], signal: AbortSignal): Promise<PluginInfo> {
    return new Promise((resolve, reject) => {
      const held = { call, resolve, reject };
      this.#held.push(held);
      signal.addEventListener('abort', () => {
        this.#held = this.#held.filter((other) => other !== held);
        reject(signal.reason as Error);
      });
    });
  }
}
