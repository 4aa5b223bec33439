import { ConflictError } from './database.ts'
import { HeldList } from './held-list.ts'

export interface Revised {
  readonly id: string
  /** How often it was changed. */
  readonly revision: number
}

/** A list whose items are changed by what is held of them: two changes at once, also by two processes, never undo each other. */
export abstract class RevisedList<T extends Revised> extends HeldList<T> {
  /**
   * Has `change` write what it decides from the item as it is held, on the condition that its revision is still the same. If somebody else was
   * first, the item is read anew, and `change` decides again.
   * @throws ConflictError if something else than the revision was not as expected
   */
  protected async revise<R>(id: string, change: () => Promise<R>): Promise<R> {
    for (;;) {
      const revision = this.held(id)?.revision
      try {
        return await change()
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error
        const now = await this.reload(id)
        if (now && now.revision === revision) throw error
      }
    }
  }
}
