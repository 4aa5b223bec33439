import type { BaseServices } from '../../platform/base-services.ts'
import type { Due } from '../../platform/store/changes.ts'

/** Tells the nodes that serve what a command has made due. */
export class Tidings {
  readonly #services: Pick<BaseServices, 'db' | 'changes'>
  readonly #writing: Promise<unknown>[] = []

  constructor(services: Pick<BaseServices, 'db' | 'changes'>) {
    this.#services = services
  }

  tell(what: Due, id: string): void {
    const statements = this.#services.changes.note(what, id)
    if (statements.length === 0) return
    const writing = this.#services.db.write(statements)
    // `told` reports it.
    writing.catch(() => {})
    this.#writing.push(writing)
  }

  /** Resolves once they are told. */
  async told(): Promise<void> {
    await Promise.all(this.#writing)
  }
}
