import { Subject } from 'rxjs';
import { Pleg } from '../../runtime/pleg/pleg.ts';
import { RuntimeState } from '../../runtime/pleg/runtime-state.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { measureRelist } from '../measured-pods.ts';

/** What the agent knows of its container runtime: its name, whether it is ready, and which pods it holds. */
export class RuntimeWatch {
  readonly pleg: Pleg;
  readonly state: RuntimeState;
  /** Emits why the runtime is not ready, when that changes; undefined once its name is known and its pods are listed. */
  readonly problems = new Subject<string | undefined>();
  /** Emits when the network of pods has become ready, or is not ready any more. */
  readonly networkChanges = new Subject<void>();
  readonly #runtime: RuntimeService;
  #name = '';

  constructor(context: AgentContext, runtime: RuntimeService) {
    this.#runtime = runtime;
    this.pleg = new Pleg(context, runtime, (relist) => {
      measureRelist(context.measurements, relist);
      this.#checkWith(relist);
    });
    this.state = new RuntimeState(context, {
      runtime,
      prepare: () => this.#prepare(),
      onReady: () => this.problems.next(undefined),
      onNotReady: (problem) => this.problems.next(problem),
      onNetworkChange: () => this.networkChanges.next(),
    });
  }

  /** The prefix of container ids: `containerd` in `containerd://id`. Empty before the runtime has answered. */
  get name(): string {
    return this.#name;
  }

  /** Asks the runtime now whether it is ready. */
  check(): void {
    void this.state.check();
  }

  stop(): void {
    this.state.stop();
    this.pleg.stop();
  }

  /** Before the runtime counts as ready: asks for its name and lists its pods. */
  async #prepare(): Promise<void> {
    this.#name = (await this.#runtime.version()).runtimeName;
    await this.pleg.relist();
  }

  /** Asks at once: with a runtime that hangs, a relist ends only after minutes. */
  #checkWith(relist: Promise<void>): void {
    this.check();
    relist.catch(() => this.state.check());
  }
}
